#include "stretto/fabric/cluster/host/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster {

namespace {

constexpr int backlog = 4096;
constexpr std::size_t name_at = offsetof(sockaddr_un, sun_path) + 1;  // after the zero that says "abstract"

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::out_of_resources, what + ": " + std::strerror(errno));
}

Descriptor make_socket() {
  Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) fail("cannot make a local socket; raise the limit of open files (ulimit -n)");
  return made;
}

bool no_room(int reason) noexcept {
  return reason == EAGAIN || reason == EWOULDBLOCK || reason == ETOOMANYREFS || reason == ENOBUFS;
}

}  // namespace

Descriptor listen_locally(std::string& name) {
  Descriptor listener = make_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // With the family alone, the kernel finds a free abstract name.
  if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) != 0 ||
      listen(listener.number(), backlog) != 0) {
    fail("cannot listen on a local socket");
  }
  socklen_t length = sizeof(address);
  if (getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length) != 0 || length <= name_at) {
    fail("cannot name a local socket");
  }
  name.assign(address.sun_path + 1, length - name_at);
  return listener;
}

Connection connect_locally(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() > sizeof(address.sun_path) - 1) return {Outcome::closed, {}};
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  Descriptor made = make_socket();
  const auto length = static_cast<socklen_t>(name_at + name.size());
  int result = 0;
  do {
    result = connect(made.number(), reinterpret_cast<const sockaddr*>(&address), length);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {Outcome::done, std::move(made)};
  return {no_room(errno) ? Outcome::later : Outcome::closed, {}};
}

Credentials credentials_of(int socket) noexcept {
  ucred other{};
  socklen_t length = sizeof(other);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0) return {-1, static_cast<uid_t>(-1)};
  return {other.pid, other.uid};
}

Outcome send_packet(int socket, ConstByteSpan bytes, std::span<const int> descriptors) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(max_passed * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Outcome::done;
  return no_room(errno) ? Outcome::later : Outcome::closed;
}

Packet receive_packet(int socket) {
  std::array<std::byte, max_packet_bytes> bytes;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(max_passed * sizeof(int))> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  Packet packet;
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return packet;
  packet.outcome = received <= 0 ? Outcome::closed : Outcome::done;
  if (received <= 0) return packet;
  if ((message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) packet.outcome = Outcome::cut_off;
  packet.bytes.assign(bytes.begin(), bytes.begin() + received);
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr; part_of = CMSG_NXTHDR(&message, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    // The room for max_passed is rounded up, and may hold one more.
    for (std::size_t at = 0; at + sizeof(int) <= part_of->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int passed = -1;
      std::memcpy(&passed, CMSG_DATA(part_of) + at, sizeof passed);
      packet.descriptors.emplace_back(passed);
    }
  }
  return packet;
}

}  // namespace stretto::fabric::cluster
