#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "stretto/fabric/bootstrap/descriptor.h"

namespace stretto::fabric {

/// How long a launcher may take to accept a connection or to answer one step of the handshake.
inline constexpr std::chrono::seconds launcher_patience{60};

/// Throws Error(io) with `what` and the system's words for errno.
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

/// A listening, non-blocking socket and where it can be reached.
struct Listener {
  Descriptor descriptor;
  HostPort endpoint;
};

/// Listens on a free port of the local address `host` (a name or a number). Error(invalid_argument) for a wildcard such
/// as 0.0.0.0: ranks have to be told an address that they can reach, and strangers on other networks need no door.
Listener listen_on(const std::string& host);

/// Whether `descriptor` becomes readable (or writable) within `timeout`.
bool wait_for(int descriptor, short events, std::chrono::milliseconds timeout);

}  // namespace stretto::fabric
