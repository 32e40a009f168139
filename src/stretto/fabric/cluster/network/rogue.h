#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stretto/fabric/cluster/network/address.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/network/fake_node.h"
#include "stretto/fabric/cluster/network/frame.h"

// For tests only.
namespace stretto::fabric::cluster::network_test {

/// A process that says what it likes. Frames are small: each is sent at once or kept for ever.
class Rogue : public network::FrameSink, public network::ConnectionOwner {
 public:
  explicit Rogue(const std::string& network)
      : nonce(network::random_nonce()), carrier_(network::make_carrier(network, *this)) {}
  ~Rogue() override {
    for (network::Connection* const connection : connections_) carrier_->close(connection);
    while (carrier_->progress()) {
    }
  }

  std::vector<std::byte> published() { return network::encode_address({nonce, carrier_->address()}); }
  void connect(ConstByteSpan published_by_peer) {
    connections_.push_back(carrier_->connect(network::decode_address(published_by_peer).carrier, *this));
  }

  void say(const network::Frame& frame, ConstByteSpan data = {}) {
    network::FrameHeader header;
    network::encode(frame, header);
    say_bytes(header.span(), data);
  }
  void say_bytes(ConstByteSpan header, ConstByteSpan data = {}) {
    Said& said = *kept_.emplace_back(std::make_unique<Said>());
    said.header.assign(header.begin(), header.end());
    said.data.assign(data.begin(), data.end());
    carrier_->send(connections_.back(), said.header, said.data, said);
  }
  void step() { carrier_->progress(); }

  void on_frame(network::Connection*, ConstByteSpan header, ConstByteSpan data) noexcept override {
    const network::Frame frame = network::decode(header, data.size());
    if (std::holds_alternative<network::MessageFrame>(frame)) {
      ++messages;
    } else {
      heard.push_back(frame);
    }
  }
  void on_no_frame(network::Connection*, const char*) noexcept override {}
  void failed(const char*) noexcept override { closed = true; }

  template <class F>
  int heard_of() const {
    int count = 0;
    for (const network::Frame& frame : heard) count += std::holds_alternative<F>(frame) ? 1 : 0;
    return count;
  }

  network::Nonce nonce;
  std::vector<network::Frame> heard;
  int messages = 0;
  bool closed = false;

 protected:
  network::Connection* connection() const { return connections_.back(); }

 private:
  struct Said final : network::Sending {
    void sent() noexcept override {}
    std::vector<std::byte> header;
    std::vector<std::byte> data;
  };

  std::vector<network::Connection*> connections_;
  std::vector<std::unique_ptr<Said>> kept_;
  std::unique_ptr<network::Carrier> carrier_;
};

/// An honest node 0 between a rogue that is node 1 and an honest node 2.
class RogueTest : public ::testing::Test {
 protected:
  void begin(const std::string& network) { begin(network, std::make_unique<Rogue>(network)); }
  void begin(const std::string& network, std::unique_ptr<Rogue> rogue) {
    use_tcp_loopback();
    node_ = std::make_unique<FakeNode>(network, 0, 1000);
    friend_ = std::make_unique<FakeNode>(network, 2, 1000);
    rogue_ = std::move(rogue);
    const std::vector<std::vector<std::byte>> published = {node_->transport->address(), rogue_->published(),
                                                           friend_->transport->address()};
    const auto address_of = [published](NodeId peer) { return published.at(peer); };
    const NodeId peers_of_node[] = {1, 2};
    const NodeId peers_of_friend[] = {0, 1};
    node_->transport->start(peers_of_node, address_of);
    friend_->transport->start(peers_of_friend, address_of);
    node_nonce_ = network::decode_address(published[0]).nonce;
    friend_nonce_ = network::decode_address(published[2]).nonce;
    rogue_->connect(published[0]);
  }

  [[nodiscard]] bool drive(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
      node_->step();
      friend_->step();
      rogue_->step();
      if (std::chrono::steady_clock::now() > limit) return false;
    }
    return true;
  }

  network::Greeting good_greeting(bool known) const { return {1, known, rogue_->nonce, node_nonce_}; }

  /// Makes node 0 trust the rogue.
  void befriend() {
    rogue_->say(good_greeting(false));
    ASSERT_TRUE(drive([&] { return rogue_->heard_of<network::Greeting>() == 1; }));
    rogue_->say(good_greeting(true));
  }

  /// Node 0 drops the rogue, with this as the reason, and serves others as before.
  void expect_lost(const std::string& why) {
    ASSERT_TRUE(drive([&] { return node_->lost(1); }));
    EXPECT_EQ(node_->losses[0].second.code(), ErrorCode::bad_input);
    EXPECT_NE(node_->losses[0].second.message().find(why), std::string::npos) << node_->losses[0].second.message();
    expect_served();
  }
  void expect_served() {
    friend_->send(0, {}, {});
    ASSERT_TRUE(drive([&] { return node_->received.size() == 1; }));
    EXPECT_EQ(node_->received[0].from, 2U);
    EXPECT_FALSE(node_->lost(2));
  }
  void expect_ignored() {
    ASSERT_TRUE(drive([&] { return node_->transport->strangers() == 1; }));
    expect_served();
    EXPECT_TRUE(node_->losses.empty());
  }

  std::unique_ptr<FakeNode> node_;
  std::unique_ptr<FakeNode> friend_;
  std::unique_ptr<Rogue> rogue_;
  network::Nonce node_nonce_ = {};
  network::Nonce friend_nonce_ = {};
};

}  // namespace stretto::fabric::cluster::network_test
