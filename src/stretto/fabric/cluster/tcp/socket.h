#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/descriptor.h"
#include "stretto/fabric/cluster/tcp/address.h"
#include "stretto/fabric/cluster/tcp/packets.h"

namespace stretto::fabric::cluster::network {

/// What became of a call that does not wait.
struct Moved {
  std::size_t bytes = 0;
  bool ended = false;  ///< nothing more will ever move; `error` is 0 where the other end closed in good order
  int error = 0;
};

/// The own addresses of interfaces that are up; of the one called `interface` if that is not empty. Throws Error(io).
std::vector<IpAddress> own_addresses(const std::string& interface);

/// The name of the interface that a connected socket uses, or "?" where it has gone.
std::string interface_of(const Descriptor& socket);

struct ListeningSocket {
  Descriptor socket;
  std::uint16_t port = 0;
};
/// Listens at `only`, or everywhere where that is null. Throws Error(io).
ListeningSocket listen_at(const IpAddress* only);
/// The next connection, or none. Throws as accept_at.
Descriptor accept_next(const Descriptor& listening);

/// Begins to connect; none, with `errno` set, where that fails at once.
Descriptor begin_connect(const IpAddress& address, std::uint16_t port);
/// 0 when it is connected now.
int connect_result(const Descriptor& socket);

/// Sends as much as the kernel takes: less than all means that the socket was not writable any more.
/// `open` is the connection's own.
Moved send_some(const Descriptor& socket, OpenPacket& open, std::span<const iovec> pieces);
/// How much the kernel holds of a connection before it is not writable.
enum class SendBuffer : std::uint8_t { usual, large };
void set_send_buffer(const Descriptor& socket, SendBuffer size);
/// Nobody is woken to read before so many bytes are there, the stream has ended, or there is no room for more.
void set_least_heard(const Descriptor& socket, std::size_t bytes);

/// Receives what is there: at first to `place`, until that is full.
Moved receive_some(const Descriptor& socket, ByteSpan place, ByteSpan then);

}  // namespace stretto::fabric::cluster::network
