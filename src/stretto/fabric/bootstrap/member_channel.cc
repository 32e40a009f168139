#include "stretto/fabric/bootstrap/member_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {
namespace {

[[noreturn]] void throw_launcher_lost() {
  throw Error(ErrorCode::peer_lost, "the launcher closed the connection: the job is over, this process should end");
}

/// The alternative that the handshake expects now.
template <class Expected>
Expected expect(const Message& message) {
  if (const auto* expected = std::get_if<Expected>(&message)) return *expected;
  throw Error(ErrorCode::bad_input, "message " + std::to_string(message.index()) + " from the launcher, out of turn");
}

}  // namespace

MemberChannel::MemberChannel(Descriptor socket, const JobSecret& secret, Role role, std::uint32_t number,
                             std::uint32_t size)
    : socket_(std::move(socket)) {
  Hello hello;
  hello.role = role;
  hello.number = number;
  hello.size = size;
  hello.nonce = random_nonce();
  send(hello);
  const auto challenge = expect<Challenge>(receive_patiently());
  if (!equal(challenge.proof, launcher_proof(secret, hello, challenge.nonce))) {
    throw Error(ErrorCode::bad_input,
                "what answers at the launcher's address cannot prove the job secret: it is not "
                "the launcher of this job; start the job again with `stretto run`");
  }
  send(Response{joiner_proof(secret, hello, challenge.nonce)});
  expect<Welcome>(receive_patiently());
  decoder_.set_limit(max_frame);
}

void MemberChannel::send(std::span<const Message> messages) {
  std::vector<std::byte> bytes;
  for (const Message& message : messages) {
    const std::vector<std::byte> one = encode(message);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  for (ConstByteSpan rest = bytes; !rest.empty();) {
    const ssize_t sent = ::send(socket_.number(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest = rest.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      // The launcher may have said why before it closed: its words wait in our receive buffer.
      for (;;) receive();
    }
  }
}

Message MemberChannel::receive() {
  for (;;) {
    if (auto message = buffered()) return std::move(*message);
    read_some(true);
  }
}

std::optional<Message> MemberChannel::poll() {
  for (;;) {
    if (auto message = buffered()) return message;
    if (!read_some(false)) return std::nullopt;
  }
}

Message MemberChannel::receive_patiently() {
  for (;;) {
    if (auto message = buffered()) return std::move(*message);
    if (!wait_for(socket_.number(), POLLIN, launcher_patience)) {
      throw Error(ErrorCode::io, "the launcher accepted the connection but has not answered for " +
                                     std::to_string(launcher_patience.count()) + " s");
    }
    read_some(false);
  }
}

bool MemberChannel::read_some(bool wait) {
  std::array<std::byte, 16384> buffer;
  for (;;) {
    const ssize_t count = ::recv(socket_.number(), buffer.data(), buffer.size(), wait ? 0 : MSG_DONTWAIT);
    if (count > 0) {
      decoder_.feed(ConstByteSpan(buffer).first(static_cast<std::size_t>(count)));
      return true;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && !wait && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    throw_launcher_lost();
  }
}

std::optional<Message> MemberChannel::buffered() {
  auto message = decoder_.next();
  if (!message) return std::nullopt;
  if (const auto* rejected = std::get_if<Rejected>(&*message)) {
    throw Error(ErrorCode::bad_input, "the launcher refuses this process: " + rejected->reason);
  }
  return message;
}

}  // namespace stretto::fabric
