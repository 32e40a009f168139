// What a peer that breaks the protocol can do: cost itself the connection, and nothing else.

#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/ucx/address.h"
#include "stretto/fabric/cluster/ucx/fake_node.h"
#include "stretto/fabric/cluster/ucx/frame.h"
#include "stretto/fabric/cluster/ucx/incoming.h"
#include "stretto/fabric/cluster/ucx/worker.h"

namespace stretto::fabric::cluster {
namespace {

using namespace ucx_test;

/// A process that says what it likes. Frames are small: each is sent at once or kept for ever.
class Rogue final : public ucx::FrameSink, public ucx::ConnectionOwner {
 public:
  Rogue() : nonce(ucx::random_nonce()), worker_(*this) {}
  ~Rogue() override {
    for (ucx::Connection* const connection : connections_) worker_.close(connection);
    while (worker_.progress()) {
    }
  }

  std::vector<std::byte> published() { return ucx::encode_address({nonce, worker_.address()}); }
  void connect(ConstByteSpan published_by_peer) {
    connections_.push_back(worker_.connect(ucx::decode_address(published_by_peer).worker, *this));
  }

  void say(const ucx::Frame& frame, ConstByteSpan data = {}) {
    ucx::FrameHeader header;
    ucx::encode(frame, header);
    say_bytes(header.span(), data);
  }
  void say_bytes(ConstByteSpan header, ConstByteSpan data = {}) {
    Said& said = *kept_.emplace_back(std::make_unique<Said>());
    said.header.assign(header.begin(), header.end());
    said.data.assign(data.begin(), data.end());
    worker_.send(connections_.back(), said.header, said.data, said);
  }
  /// As no Worker of ours does.
  void say_by_rendezvous(const ucx::Frame& frame, std::size_t bytes) {
    Said& said = *kept_.emplace_back(std::make_unique<Said>());
    ucx::FrameHeader header;
    ucx::encode(frame, header);
    said.header.assign(header.span().begin(), header.span().end());
    said.data = pattern(bytes, 1);
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK;
    params.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV;
    params.cb.send = [](void* request, ucs_status_t, void*) { ucp_request_free(request); };
    ucp_am_send_nbx(connections_.back(), 0, said.header.data(), said.header.size(), said.data.data(), bytes, &params);
  }
  void step() { worker_.progress(); }

  void on_frame(ucx::Connection*, ConstByteSpan header, ConstByteSpan data) noexcept override {
    const ucx::Frame frame = ucx::decode(header, data.size());
    if (std::holds_alternative<ucx::MessageFrame>(frame)) {
      ++messages;
    } else {
      heard.push_back(frame);
    }
  }
  void on_no_frame(ucx::Connection*, const char*) noexcept override {}
  void failed(const char*) noexcept override { closed = true; }

  template <class F>
  int heard_of() const {
    int count = 0;
    for (const ucx::Frame& frame : heard) count += std::holds_alternative<F>(frame) ? 1 : 0;
    return count;
  }

  ucx::Nonce nonce;
  std::vector<ucx::Frame> heard;
  int messages = 0;
  bool closed = false;

 private:
  struct Said final : ucx::Sending {
    void sent() noexcept override {}
    std::vector<std::byte> header;
    std::vector<std::byte> data;
  };

  std::vector<ucx::Connection*> connections_;
  std::vector<std::unique_ptr<Said>> kept_;
  ucx::Worker worker_;
};

/// An honest node 0 between a rogue that is node 1 and an honest node 2.
class UcxRogue : public ::testing::Test {
 protected:
  UcxRogue() {
    use_tcp_loopback();
    node_ = std::make_unique<FakeNode>(0, 1000);
    friend_ = std::make_unique<FakeNode>(2, 1000);
    rogue_ = std::make_unique<Rogue>();
    const std::vector<std::vector<std::byte>> published = {node_->transport->address(), rogue_->published(),
                                                           friend_->transport->address()};
    const auto address_of = [published](NodeId peer) { return published.at(peer); };
    const NodeId peers_of_node[] = {1, 2};
    const NodeId peers_of_friend[] = {0, 1};
    node_->transport->start(peers_of_node, address_of);
    friend_->transport->start(peers_of_friend, address_of);
    node_nonce_ = ucx::decode_address(published[0]).nonce;
    friend_nonce_ = ucx::decode_address(published[2]).nonce;
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

  ucx::Greeting good_greeting(bool known) const { return {1, known, rogue_->nonce, node_nonce_}; }

  /// Makes node 0 trust the rogue.
  void befriend() {
    rogue_->say(good_greeting(false));
    ASSERT_TRUE(drive([&] { return rogue_->heard_of<ucx::Greeting>() == 1; }));
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
  ucx::Nonce node_nonce_ = {};
  ucx::Nonce friend_nonce_ = {};
};

TEST_F(UcxRogue, IsServedWhileItKeepsTheProtocol) {
  befriend();
  rogue_->say(ucx::MessageFrame{MessageType::test, {}});
  ASSERT_TRUE(drive([&] { return node_->received.size() == 1; }));
  EXPECT_EQ(node_->received[0].from, 1U);
}

TEST_F(UcxRogue, StrangersThatDoNotGreetAreIgnored) {
  rogue_->say(ucx::MessageFrame{MessageType::test, {}});
  expect_ignored();
}

TEST_F(UcxRogue, StrangersThatSendNoFrameAreIgnored) {
  rogue_->say_bytes(pattern(100, 1), pattern(200, 2));
  expect_ignored();
}

TEST_F(UcxRogue, AGreetingForAnotherProcessIsRefused) {
  ucx::Greeting greeting = good_greeting(false);
  greeting.receiver = friend_nonce_;
  rogue_->say(greeting);
  expect_ignored();
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<ucx::Refusal>() == 1; }));
}

TEST_F(UcxRogue, AGreetingOfANodeThatDoesNotExistIsRefused) {
  ucx::Greeting greeting = good_greeting(false);
  for (const NodeId nobody : {NodeId{0}, NodeId{3}, max_nodes - 1}) {
    greeting.node = nobody;
    rogue_->say(greeting);
  }
  ASSERT_TRUE(drive([&] { return node_->transport->strangers() == 3; }));
  expect_served();
}

TEST_F(UcxRogue, AGreetingInAnothersNameIsRefusedEvenWithTheRightNonces) {
  rogue_->say(ucx::Greeting{2, false, friend_nonce_, node_nonce_});
  expect_ignored();
  EXPECT_EQ(rogue_->heard_of<ucx::Greeting>(), 0);
}

TEST_F(UcxRogue, AWrongNonceIsNotThatNode) {
  ucx::Greeting greeting = good_greeting(false);
  greeting.sender[3] ^= std::byte{1};
  rogue_->say(greeting);
  expect_lost("is not that node");
}

TEST_F(UcxRogue, FramesBeforeTheGreetingEndTheConnection) {
  node_->send(1, {}, {});  // the honest node begins
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<ucx::Greeting>() == 1; }));
  EXPECT_EQ(rogue_->messages, 0);  // nothing leaves before the greeting is answered
  rogue_->say(ucx::MessageFrame{MessageType::test, {}});
  expect_lost("before its sender's greeting");
}

TEST_F(UcxRogue, AMalformedFrameEndsTheConnection) {
  befriend();
  rogue_->say_bytes(pattern(20, 3), pattern(10, 3));
  expect_lost("a frame ");
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<ucx::Refusal>() == 1; }));
}

TEST_F(UcxRogue, ATruncatedFrameEndsTheConnection) {
  befriend();
  ucx::FrameHeader header;
  ucx::encode(ucx::PutPiece{1, 0, 10, 0, 5}, header);
  rogue_->say_bytes(header.span().first(header.size - 1), pattern(10, 1));
  expect_lost("malformed put piece frame");
}

TEST_F(UcxRogue, AnOversizedMessageEndsTheConnection) {
  befriend();
  rogue_->say(ucx::MessageFrame{MessageType::test, {}}, pattern(max_message_bytes + 1, 1));
  expect_lost("a payload of 16385 bytes");
}

TEST_F(UcxRogue, ARendezvousEndsTheConnection) {
  befriend();
  rogue_->say_by_rendezvous(ucx::PutPiece{1, 0, 900, 0, 5}, 900);
  expect_lost("it comes by rendezvous");
}

TEST_F(UcxRogue, PutsOutsideOfTheSegmentEndTheConnection) {
  befriend();
  rogue_->say(ucx::PutPiece{1, 995, 6, 0, 5}, pattern(6, 1));
  expect_lost("outside of the segment");
  EXPECT_EQ(node_->segment, std::vector<std::byte>(1000));
  EXPECT_TRUE(node_->notifications.empty());
}

TEST_F(UcxRogue, GetsOutsideOfTheSegmentEndTheConnection) {
  befriend();
  rogue_->say(ucx::GetRequest{1, ~Offset{0} - 5, 5});
  expect_lost("outside of the segment");
}

TEST_F(UcxRogue, AnswersThatNobodyAskedForEndTheConnection) {
  befriend();
  rogue_->say(ucx::GetPiece{0, 0}, pattern(6, 1));
  expect_lost("not outstanding");
}

TEST_F(UcxRogue, AnswersWithOtherBytesEndTheConnectionAndLoseTheGet) {
  befriend();
  std::vector<std::byte> destination(10);
  CountedCompletion done;
  node_->transport->get(1, 0, ByteSpan(destination).first(8), &done);
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<ucx::GetRequest>() == 1; }));
  rogue_->say(ucx::GetPiece{0, 2}, pattern(7, 1));
  expect_lost("other bytes than were asked for");
  ASSERT_TRUE(drive([&] { return done.fired == 1; }));
  EXPECT_TRUE(done.lost);
  EXPECT_EQ(destination, std::vector<std::byte>(10));
}

TEST_F(UcxRogue, PiecesThatContradictEachOtherEndTheConnection) {
  befriend();
  rogue_->say(ucx::PutPiece{1, 0, 100, 0, 5}, pattern(10, 1));
  rogue_->say(ucx::PutPiece{1, 0, 100, 10, 6}, pattern(10, 1));
  expect_lost("contradict");
}

TEST_F(UcxRogue, MorePiecesThanBytesEndTheConnection) {
  befriend();
  rogue_->say(ucx::PutPiece{1, 0, 100, 0, 5}, pattern(60, 1));
  rogue_->say(ucx::PutPiece{1, 0, 100, 0, 5}, pattern(60, 1));
  expect_lost("more pieces than bytes");
}

TEST_F(UcxRogue, PutsThatNeverEndAreLimited) {
  befriend();
  for (std::uint64_t id = 0; id <= ucx::max_open_puts; ++id) {
    rogue_->say(ucx::PutPiece{id, 0, 100, 0, 5}, pattern(60, 1));
  }
  expect_lost("begun and not finished");
}

TEST_F(UcxRogue, PiecesMayComeInAnyOrder) {
  befriend();
  const std::vector<std::byte> bytes = pattern(90, 1);
  rogue_->say(ucx::PutPiece{1, 7, 90, 60, 5}, ConstByteSpan(bytes).subspan(60, 30));
  rogue_->say(ucx::PutPiece{2, 500, 60, 30, 6}, ConstByteSpan(bytes).subspan(30, 30));
  rogue_->say(ucx::PutPiece{1, 7, 90, 0, 5}, ConstByteSpan(bytes).first(30));
  rogue_->say(ucx::PutPiece{2, 500, 60, 0, 6}, ConstByteSpan(bytes).first(30));
  rogue_->say(ucx::PutPiece{1, 7, 90, 30, 5}, ConstByteSpan(bytes).subspan(30, 30));
  ASSERT_TRUE(drive([&] { return node_->notifications.size() == 2; }));
  EXPECT_EQ(node_->notifications, (std::vector<std::pair<NodeId, Notification>>{{1, 6}, {1, 5}}));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), node_->segment.begin() + 7));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 60, node_->segment.begin() + 500));
}

TEST_F(UcxRogue, AGoodbyeThatCountsTooFewEndsTheConnection) {
  befriend();
  rogue_->say(ucx::PutPiece{1, 0, 1, 0, 5}, pattern(1, 1));
  rogue_->say(ucx::Goodbye{0});
  expect_lost("more frames than its goodbye counts");
}

TEST_F(UcxRogue, AGoodbyeWaitsForAllThatItCounts) {
  befriend();
  rogue_->say(ucx::Goodbye{2});
  rogue_->say(ucx::PutPiece{1, 0, 1, 0, 5}, pattern(1, 1));
  ASSERT_TRUE(drive([&] { return node_->notifications.size() == 1; }));
  EXPECT_TRUE(node_->departures.empty());
  rogue_->say(ucx::PutPiece{2, 0, 1, 0, 6}, pattern(1, 1));
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<ucx::GoodbyeAnswer>() == 1; }));
  EXPECT_EQ(node_->departures, std::vector<NodeId>{1});
  EXPECT_EQ(node_->notifications.size(), 2U);
}

TEST_F(UcxRogue, ASecondGoodbyeEndsTheConnection) {
  befriend();
  rogue_->say(ucx::Goodbye{5});
  rogue_->say(ucx::Goodbye{5});
  expect_lost("a second goodbye");
}

TEST_F(UcxRogue, AnAnswerToNoGoodbyeEndsTheConnection) {
  befriend();
  rogue_->say(ucx::GoodbyeAnswer{});
  expect_lost("never said");
}

TEST_F(UcxRogue, WhatComesAfterAGoodbyeIsSilent) {
  befriend();
  rogue_->say(ucx::Goodbye{0});
  rogue_->say(ucx::MessageFrame{MessageType::test, {}});
  ASSERT_TRUE(drive([&] { return node_->departures.size() == 1; }));
  expect_served();
  EXPECT_TRUE(node_->losses.empty());
}

}  // namespace
}  // namespace stretto::fabric::cluster
