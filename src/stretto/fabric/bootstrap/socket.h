#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "stretto/base/descriptor.h"

namespace stretto::fabric {

/// How long a launcher may take to accept a connection or to answer one step of the handshake.
inline constexpr std::chrono::seconds launcher_patience{60};

/// Whether that is what the system says when it has no more descriptors or memory.
bool is_shortage(int error) noexcept;

/// The system's words for `error`; where descriptors are short, with what to do about it.
std::string describe(int error);

/// Throws Error(io) with `what` and a description of errno; Error(out_of_resources) for a shortage.
[[noreturn]] void throw_io(const std::string& what);

/// Where something listens: a name or numeric address, and a port. Written HOST:PORT or [IPv6]:PORT.
struct HostPort {
  std::string host;
  std::string port;

  std::string text() const;
};

/// Error(bad_input) when `text` is not an endpoint.
HostPort parse_endpoint(std::string_view text);

/// A blocking, connected stream; tries each address of the name. Error(io) with the reason when none answers.
Descriptor connect_to(const HostPort& endpoint);

/// Sets an option that is an improvement only: a kernel may not have it.
void set_option(const Descriptor& socket, int level, int option, int value) noexcept;

/// Has a TCP connection end when the other host has vanished, 16 s after it last said anything, where nothing is under
/// way. Of a listening socket: the connections that are accepted there.
void keep_alive(const Descriptor& socket);

/// A listening, non-blocking socket and where it can be reached.
struct Listener {
  Descriptor descriptor;
  HostPort endpoint;
};

/// Listens on a free port of the local address `host` (a name or a number). Error(invalid_argument) for a wildcard such
/// as 0.0.0.0: ranks have to be told an address that they can reach, and strangers on other networks need no door.
Listener listen_on(const std::string& host);

/// The next one who calls at a non-blocking listener, non-blocking; none if nobody does now. Errors as throw_io where
/// somebody does and there is no room.
Descriptor accept_at(int listener);

/// Whether `descriptor` becomes readable (or writable) within `timeout`.
bool wait_for(int descriptor, short events, std::chrono::milliseconds timeout);

}  // namespace stretto::fabric
