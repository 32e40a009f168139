#pragma once

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/bootstrap/rendezvous.h"

namespace stretto::fabric::test {

inline JobSecret secret_of(std::uint8_t byte) {
  std::array<std::byte, JobSecret::size> bytes{};
  bytes.fill(std::byte{byte});
  return JobSecret(bytes);
}

inline Nonce nonce_of(std::uint64_t number) {
  Nonce nonce{};
  nonce[0] = static_cast<std::byte>(number);
  nonce[1] = static_cast<std::byte>(number >> 8U);
  return nonce;
}

inline std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// A rendezvous with peers that say exactly what the test wants, and everything that it answered.
class Scene {
 public:
  explicit Scene(std::vector<Rendezvous::Host> hosts, bool keep_going = false)
      : rendezvous(secret_of(1), {std::move(hosts), keep_going}) {}
  explicit Scene(std::uint32_t ranks, bool keep_going = false) : Scene({{"here", ranks, false}}, keep_going) {}

  ConnectionId connect() {
    const ConnectionId id = next_++;
    perform(rendezvous.connected(id, nonce_of(id)));
    return id;
  }

  void tell(ConnectionId id, const Message& message) { tell_bytes(id, encode(message)); }
  void tell_bytes(ConnectionId id, ConstByteSpan bytes) { perform(rendezvous.received(id, bytes)); }

  Hello hello_of(Role role, std::uint32_t number) const {
    Hello hello;
    hello.role = role;
    hello.number = number;
    hello.size = rendezvous.size();
    hello.nonce = nonce_of(1000 + number);
    return hello;
  }

  /// Joins as a proper member; the welcome is consumed.
  ConnectionId join(std::uint32_t number, Role role = Role::rank, std::uint8_t secret = 1) {
    const ConnectionId id = connect();
    const Hello hello = hello_of(role, number);
    tell(id, hello);
    const auto challenge = take<Challenge>(id);
    if (challenge) tell(id, Response{joiner_proof(secret_of(secret), hello, challenge->nonce)});
    if (secret == 1) {
      EXPECT_TRUE(take<Welcome>(id)) << number;
    }
    return id;
  }

  void leave(ConnectionId id, NodeId rank) {
    tell(id, Goodbye{});
    EXPECT_TRUE(take<Farewell>(id));
    perform(rendezvous.rank_exited(rank, {}));
  }

  /// The next message to `id`, which must be this one.
  template <class Expected>
  std::optional<Expected> take(ConnectionId id) {
    const auto message = inbox[id].next();
    if (!message) return std::nullopt;
    EXPECT_TRUE(std::holds_alternative<Expected>(*message)) << "message " << message->index();
    if (const auto* expected = std::get_if<Expected>(&*message)) return *expected;
    return std::nullopt;
  }
  bool silent(ConnectionId id) { return !inbox[id].next().has_value(); }

  void perform(const Instructions& instructions) {
    for (const Instruction& instruction : instructions) {
      if (const auto* send = std::get_if<SendBytes>(&instruction)) {
        EXPECT_FALSE(closed.contains(send->connection));
        inbox[send->connection].feed(send->bytes);
      } else if (const auto* close = std::get_if<CloseConnection>(&instruction)) {
        closed.insert(close->connection);
      } else if (const auto* signal = std::get_if<SignalRank>(&instruction)) {
        signals.emplace_back(signal->rank, signal->signal);
      } else if (const auto* agent = std::get_if<SignalAgent>(&instruction)) {
        agent_signals.emplace_back(agent->host, agent->signal);
      } else if (std::holds_alternative<StartGrace>(instruction)) {
        ++graces;
      } else if (const auto* report = std::get_if<Report>(&instruction)) {
        reports.push_back(report->line);
      } else if (const auto* finish = std::get_if<Finish>(&instruction)) {
        EXPECT_FALSE(exit_code) << "finished twice";
        exit_code = finish->exit_code;
      }
    }
  }

  using Sent = std::vector<std::pair<std::uint32_t, int>>;
  struct Inbox : FrameDecoder {
    Inbox() : FrameDecoder(max_frame) {}
  };

  Rendezvous rendezvous;
  std::map<ConnectionId, Inbox> inbox;
  std::set<ConnectionId> closed;
  Sent signals;
  Sent agent_signals;
  int graces = 0;
  std::vector<std::string> reports;
  std::optional<int> exit_code;

 private:
  ConnectionId next_ = 1;
};

inline constexpr ExitStatus killed{true, SIGKILL};
inline constexpr ExitStatus failed_7{false, 7};

}  // namespace stretto::fabric::test
