#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/fabric/cluster/network/network_transport.h"
#include "stretto/fabric/cluster/transport.h"

// For tests only.
namespace stretto::fabric::cluster::network_test {

/// All carriers: a test of the transport is one of each. They speak TCP on the loopback, whatever the machine has.
inline constexpr std::array networks_under_test = {"tcp/lo", "ucx"};

/// For test names.
inline std::string carrier_of(const std::string& network) { return network.substr(0, 3); }

/// Before the first transport.
inline void use_tcp_loopback() {
  setenv("UCX_TLS", "tcp", 1);
  setenv("UCX_NET_DEVICES", "lo", 1);
  setenv("UCX_KEEPALIVE_INTERVAL", "1s", 1);
}

/// Counts how often it fired.
struct CountedCompletion final : Completion {
  void complete(bool is_lost) noexcept override {
    ++fired;
    lost = is_lost;
  }
  int fired = 0;
  bool lost = false;
};

/// What an endpoint is to its network transport, with all that it was told laid open.
struct FakeNode final : TransportSink {
  struct Received {
    NodeId from;
    MessageType type;
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
  };

  FakeNode(const std::string& network, NodeId self, std::size_t segment_bytes = 0)
      : id(self), segment(segment_bytes), transport(std::make_unique<NetworkTransport>(self, *this, network)) {}

  void on_message(const Message& message) override {
    if (on_receive) {
      on_receive(message);
      return;
    }
    received.push_back({message.from,
                        message.type,
                        {message.header.begin(), message.header.end()},
                        {message.payload.begin(), message.payload.end()}});
  }
  std::optional<ByteSpan> window(NodeId from, Offset offset, std::uint64_t bytes) override {
    if (offset <= segment.size() && bytes <= segment.size() - offset) return ByteSpan(segment).subspan(offset, bytes);
    on_peer_lost(from, Error(ErrorCode::bad_input, "outside of the segment"));
    return std::nullopt;
  }
  void complete_later(Completion* completion, bool lost) override { completions.emplace_back(completion, lost); }
  void on_notification(NodeId from, Notification notification) override {
    notifications.emplace_back(from, notification);
  }
  void lose_later(NodeId peer, const Error& cause) override { on_peer_lost(peer, cause); }
  void on_peer_lost(NodeId peer, const Error& cause) override {
    if (lost(peer)) return;
    losses.emplace_back(peer, cause);
    transport->disconnect(peer);
  }
  void on_peer_left(NodeId peer) override { departures.push_back(peer); }
  void on_peer_ended(NodeId /*peer*/) override {}

  bool lost(NodeId peer) const {
    return std::any_of(losses.begin(), losses.end(), [&](const auto& loss) { return loss.first == peer; });
  }
  void send(NodeId to, ConstByteSpan header, ConstByteSpan payload) {
    transport->send(to, MessageType::test, header, payload);
  }
  bool step() {
    const bool moved = transport->progress();
    while (!completions.empty()) {
      const auto [completion, is_lost] = completions.front();
      completions.pop_front();
      completion->complete(is_lost);
    }
    return moved;
  }

  NodeId id;
  std::vector<std::byte> segment;
  std::function<void(const Message&)> on_receive;  // instead of `received`
  std::vector<Received> received;
  std::vector<std::pair<NodeId, Notification>> notifications;
  std::vector<std::pair<NodeId, Error>> losses;
  std::vector<NodeId> departures;
  std::deque<std::pair<Completion*, bool>> completions;
  std::unique_ptr<NetworkTransport> transport;
};

/// Some nodes in one process, driven in turns by the test's thread.
class FakeJob {
 public:
  FakeJob(const std::string& network, NodeId size, std::size_t segment_bytes = 0) {
    use_tcp_loopback();
    for (NodeId id = 0; id < size; ++id) nodes_.push_back(std::make_unique<FakeNode>(network, id, segment_bytes));
    for (const auto& node : nodes_) addresses.push_back(node->transport->address());
    for (const auto& node : nodes_) {
      std::vector<NodeId> peers;
      for (NodeId id = 0; id < size; ++id) {
        if (id != node->id) peers.push_back(id);
      }
      node->transport->start(peers, [this](NodeId peer) { return addresses.at(peer); });
    }
  }

  FakeNode& operator[](NodeId id) { return *nodes_[id]; }
  void end(NodeId id) { nodes_[id].reset(); }

  /// Makes progress on all nodes until `done`. False after a minute, so that a fault ends in a failure and not a hang.
  [[nodiscard]] bool drive(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
      for (const auto& node : nodes_) {
        if (node != nullptr) node->step();
      }
      if (std::chrono::steady_clock::now() > limit) return false;
    }
    return true;
  }

  std::vector<std::vector<std::byte>> addresses;

 private:
  std::vector<std::unique_ptr<FakeNode>> nodes_;
};

/// Bytes that differ from place to place and from seed to seed.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> result(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::byte& b : result) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    b = static_cast<std::byte>(state >> 56U);
  }
  return result;
}

}  // namespace stretto::fabric::cluster::network_test
