#include "stretto/fabric/cluster/tcp/socket.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric::cluster::network {
namespace {

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces all_interfaces() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) throw_io("cannot list the network interfaces");
  return {all, &freeifaddrs};
}

// The address without its network; none for what is not IP, or holds on one link only.
std::optional<IpAddress> ip_of(const sockaddr* address) {
  IpAddress ip;
  if (address != nullptr && address->sa_family == AF_INET) {
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return ip;
  }
  if (address == nullptr || address->sa_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&v6)) return std::nullopt;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    std::memcpy(ip.bytes.data(), v6.s6_addr + 12, 4);
  } else {
    ip.is_v6 = true;
    std::memcpy(ip.bytes.data(), v6.s6_addr, 16);
  }
  return ip;
}

std::uint8_t bits_of(const sockaddr* mask) {
  const std::optional<IpAddress> ones = ip_of(mask);
  if (!ones) return 0;
  int bits = 0;
  for (const std::byte b : ones->bytes) bits += std::popcount(std::to_integer<unsigned>(b));
  return static_cast<std::uint8_t>(bits);
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const IpAddress& ip, std::uint16_t port) {
  SocketAddress address;
  if (ip.is_v6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.bytes.data(), 16);
    address.size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip.bytes.data(), 4);
    address.size = sizeof v4;
  }
  return address;
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) throw_io("getsockname");
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// What the kernel holds of a connection waits where nothing can overtake it, and in two-way traffic the
// acknowledgements of the other direction wait behind it: with 64 KiB both directions of a link are full, with the
// kernel's own choice they reach 75 % (docs/decisions/0019).
constexpr int send_buffer_bytes = 64 * 1024;
// Who computes meanwhile is to be disturbed rarely: the kernel makes 512 KiB of it where it may, which are 4 ms of a
// link of 1 Gbit/s.
constexpr int large_send_buffer_bytes = 256 * 1024;
// BBR sends no faster than it believes the path to be, and of a connection that carries a few bytes at a time it
// believes too little: what comes soon after something else then waits for a timer of the kernel's
// (docs/decisions/0032).
constexpr std::string_view pacing_congestion_control = "bbr";
constexpr std::string_view plain_congestion_control = "reno";  // in every kernel, and allowed to everybody
// Nobody answers a call: each attempt takes twice as long as the one before, 7 s in all.
constexpr int connect_attempts = 2;

void avoid_pacing(const Descriptor& socket) {
  std::array<char, 16> name{};  // what the kernel has for it
  socklen_t size = name.size();
  if (getsockopt(socket.number(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) != 0) return;
  if (!std::string_view(name.data(), strnlen(name.data(), size)).starts_with(pacing_congestion_control)) return;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_CONGESTION, plain_congestion_control.data(),
             static_cast<socklen_t>(plain_congestion_control.size()));  // an improvement only
}

void prepare(const Descriptor& socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_send_buffer(socket, SendBuffer::usual);
  keep_alive(socket);
  set_option(socket, IPPROTO_TCP, TCP_SYNCNT, connect_attempts);
}

// Before it is connected, or listens for those that it answers: once a connection is paced, it stays so.
Descriptor tcp_socket(int family) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket) avoid_pacing(socket);
  return socket;
}

Moved result_of(ssize_t bytes) {
  if (bytes >= 0) return {static_cast<std::size_t>(bytes), false, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {0, true, errno};
}

}  // namespace

std::vector<IpAddress> own_addresses(const std::string& interface) {
  std::vector<IpAddress> addresses;
  const Interfaces all = all_interfaces();
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0 || (!interface.empty() && interface != one->ifa_name)) continue;
    std::optional<IpAddress> address = ip_of(one->ifa_addr);
    if (!address) continue;
    address->network_bits = bits_of(one->ifa_netmask);
    addresses.push_back(*address);
  }
  return addresses;
}

std::string interface_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  const std::optional<IpAddress> own = ip_of(reinterpret_cast<const sockaddr*>(&address));
  const Interfaces all = all_interfaces();
  for (const ifaddrs* one = all.get(); own && one != nullptr; one = one->ifa_next) {
    if (ip_of(one->ifa_addr) == own) return one->ifa_name;
  }
  return "?";
}

ListeningSocket listen_at(const IpAddress* only) {
  IpAddress anywhere;
  anywhere.is_v6 = true;
  ListeningSocket listening;
  listening.socket = tcp_socket(only == nullptr || only->is_v6 ? AF_INET6 : AF_INET);
  if (!listening.socket && only == nullptr) {  // a kernel without version 6
    anywhere.is_v6 = false;
    listening.socket = tcp_socket(AF_INET);
  }
  if (!listening.socket) throw_io("socket");
  if (only == nullptr && anywhere.is_v6) set_option(listening.socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const SocketAddress address = socket_address(only != nullptr ? *only : anywhere, 0);
  if (bind(listening.socket.number(), address.get(), address.size) != 0) throw_io("cannot bind a socket");
  if (listen(listening.socket.number(), SOMAXCONN) != 0) throw_io("cannot listen");
  listening.port = port_of(listening.socket);
  return listening;
}

Descriptor accept_next(const Descriptor& listening) {
  Descriptor socket = accept_at(listening.number());
  if (socket) prepare(socket);
  return socket;
}

Descriptor begin_connect(const IpAddress& address, std::uint16_t port) {
  Descriptor socket = tcp_socket(address.is_v6 ? AF_INET6 : AF_INET);
  if (!socket) return socket;
  prepare(socket);
  const SocketAddress target = socket_address(address, port);
  if (connect(socket.number(), target.get(), target.size) == 0 || errno == EINPROGRESS) return socket;
  const int failure = errno;
  socket.reset();
  errno = failure;
  return socket;
}

int connect_result(const Descriptor& socket) {
  int failure = 0;
  socklen_t size = sizeof failure;
  return getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &failure, &size) == 0 ? failure : errno;
}

Moved send_some(const Descriptor& socket, OpenPacket& open, std::span<const iovec> pieces) {
  Moved all;
  Packets packets(open, pieces);
  for (std::span<iovec> packet = packets.next(); !packet.empty(); packet = packets.next()) {
    msghdr message{};
    message.msg_iov = packet.data();
    message.msg_iovlen = packet.size();
    const int end = packets.ends() ? MSG_EOR : 0;
    const Moved some = result_of(sendmsg(socket.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT | end));
    packets.sent(some.bytes);
    all = {all.bytes + some.bytes, some.ended, some.error};
    if (some.bytes < packets.bytes()) break;
  }
  return all;
}

void set_send_buffer(const Descriptor& socket, SendBuffer size) {
  set_option(socket, SOL_SOCKET, SO_SNDBUF, size == SendBuffer::usual ? send_buffer_bytes : large_send_buffer_bytes);
}

void set_least_heard(const Descriptor& socket, std::size_t bytes) {
  set_option(socket, SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(bytes));
}

Moved receive_some(const Descriptor& socket, ByteSpan place, ByteSpan then) {
  ssize_t bytes = 0;
  if (place.empty()) {
    bytes = recv(socket.number(), then.data(), then.size(), MSG_DONTWAIT);
  } else {
    std::array pieces{iovec{place.data(), place.size()}, iovec{then.data(), then.size()}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    bytes = recvmsg(socket.number(), &message, MSG_DONTWAIT);
  }
  return bytes == 0 ? Moved{0, true, 0} : result_of(bytes);
}

}  // namespace stretto::fabric::cluster::network
