#include "sockets/ring.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "stretto/fabric/cluster/tcp/packets.h"

namespace sockets_bench {
namespace {

constexpr std::size_t most_bytes_a_call = std::size_t{256} << 10U;
constexpr std::string_view never_paced = "reno";  // decision 32

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void set(const Descriptor& connection, int level, int option, int value) {
  checked(setsockopt(connection.number(), level, option, &value, sizeof(value)), "setsockopt");
}

// Before it is connected, or listens for those that it answers.
void keep_from_pacing(const Descriptor& socket) {
  checked(setsockopt(socket.number(), IPPROTO_TCP, TCP_CONGESTION, never_paced.data(), socklen_t(never_paced.size())),
          "setsockopt");
}

sockaddr_in address_of(const Addresses& addresses, int rank) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(addresses.port + rank));
  const std::string& host = addresses.hosts.at(std::size_t(rank));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw std::system_error(EINVAL, std::generic_category(), "the address " + host);
  }
  return address;
}

/// What a call that must not wait has done: 0 if it would have had to.
std::size_t done_now(ssize_t result, const char* what) {
  if (result > 0) return std::size_t(result);
  if (result == 0) throw std::system_error(ECONNRESET, std::generic_category(), what);
  if (errno != EAGAIN) checked(-1, what);
  return 0;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Ring::Ring(const Addresses& addresses, int rank)
    : addresses_(addresses),
      rank_(rank),
      listener_(checked(socket(AF_INET, SOCK_STREAM, 0), "socket")),
      outgoing_(most_bytes_a_call),
      incoming_(most_bytes_a_call) {
  set(listener_, SOL_SOCKET, SO_REUSEADDR, 1);
  const sockaddr_in mine = address_of(addresses, rank);
  checked(bind(listener_.number(), reinterpret_cast<const sockaddr*>(&mine), sizeof(mine)), "bind");
  checked(listen(listener_.number(), 1), "listen");
}

Descriptor Ring::connect_to(int peer) const {
  Descriptor connection(checked(socket(AF_INET, SOCK_STREAM, 0), "socket"));
  if (manner_.at_once) keep_from_pacing(connection);
  const sockaddr_in theirs = address_of(addresses_, peer);
  checked(connect(connection.number(), reinterpret_cast<const sockaddr*>(&theirs), sizeof(theirs)), "connect");
  return connection;
}

void Ring::prepare(const Descriptor& connection) const {
  set(connection, IPPROTO_TCP, TCP_NODELAY, 1);
  if (manner_.send_buffer > 0) set(connection, SOL_SOCKET, SO_SNDBUF, manner_.send_buffer);
}

const Descriptor& Ring::incoming_connection() const noexcept {
  return from_previous_.number() < 0 ? to_next_ : from_previous_;
}

void Ring::choose(const Manner& manner) {
  manner_ = manner;
  if (manner_.at_once) keep_from_pacing(listener_);
}

void Ring::join() {
  const int ranks = int(addresses_.hosts.size());
  const auto accepted = [this] { return Descriptor(checked(accept(listener_.number(), nullptr, nullptr), "accept")); };
  from_previous_ = Descriptor();
  if (ranks == 2) {
    to_next_ = rank_ == 0 ? connect_to(1) : accepted();
  } else {
    to_next_ = connect_to((rank_ + 1) % ranks);
    from_previous_ = accepted();
  }
  prepare(to_next_);
}

std::size_t Ring::send_some(std::size_t bytes) {
  const std::size_t most = manner_.at_once ? stretto::fabric::cluster::network::Packets::most_bytes : outgoing_.size();
  const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (manner_.at_once ? MSG_EOR : 0);
  return done_now(send(to_next_.number(), outgoing_.data(), std::min(bytes, most), flags), "send");
}

std::size_t Ring::receive_some(std::size_t bytes) {
  const std::size_t most = std::min(bytes, incoming_.size());
  return done_now(recv(incoming_connection().number(), incoming_.data(), most, MSG_DONTWAIT), "recv");
}

void Ring::exchange(std::size_t bytes) {
  std::size_t to_send = bytes;
  std::size_t to_receive = bytes;
  const Descriptor& from = incoming_connection();
  bool may_receive = !manner_.at_once;
  while (to_send > 0 || to_receive > 0) {
    const std::size_t sent = to_send > 0 ? send_some(to_send) : 0;
    const std::size_t received = may_receive && to_receive > 0 ? receive_some(to_receive) : 0;
    to_send -= sent;
    to_receive -= received;
    if (sent > 0 || received > 0) continue;
    if (manner_.at_once) set(from, SOL_SOCKET, SO_RCVLOWAT, int(to_receive));
    pollfd waits[] = {{to_send > 0 ? to_next_.number() : -1, POLLOUT, 0},
                      {to_receive > 0 ? from.number() : -1, POLLIN, 0}};
    checked(poll(waits, 2, -1), "poll");
    may_receive = !manner_.at_once || waits[1].revents != 0;
  }
}

}  // namespace sockets_bench
