// What a peer that breaks the protocol can do: cost itself the connection, and nothing else.

#include "stretto/fabric/cluster/network/rogue.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/network/incoming.h"

namespace stretto::fabric::cluster {
namespace {

using namespace network_test;

class Rogues : public RogueTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { begin(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(EachNetwork, Rogues, ::testing::ValuesIn(networks_under_test),
                         [](const auto& test) { return carrier_of(test.param); });

TEST_P(Rogues, IsServedWhileItKeepsTheProtocol) {
  befriend();
  rogue_->say(network::MessageFrame{MessageType::test, {}});
  ASSERT_TRUE(drive([&] { return node_->received.size() == 1; }));
  EXPECT_EQ(node_->received[0].from, 1U);
}

TEST_P(Rogues, StrangersThatDoNotGreetAreIgnored) {
  rogue_->say(network::MessageFrame{MessageType::test, {}});
  expect_ignored();
}

TEST_P(Rogues, StrangersThatSendNoFrameAreIgnored) {
  rogue_->say_bytes(pattern(100, 1), pattern(200, 2));
  expect_ignored();
}

TEST_P(Rogues, AGreetingForAnotherProcessIsRefused) {
  network::Greeting greeting = good_greeting(false);
  greeting.receiver = friend_nonce_;
  rogue_->say(greeting);
  expect_ignored();
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<network::Refusal>() == 1; }));
}

TEST_P(Rogues, AGreetingOfANodeThatDoesNotExistIsRefused) {
  network::Greeting greeting = good_greeting(false);
  for (const NodeId nobody : {NodeId{0}, NodeId{3}, max_nodes - 1}) {
    greeting.node = nobody;
    rogue_->say(greeting);
  }
  ASSERT_TRUE(drive([&] { return node_->transport->strangers() == 3; }));
  expect_served();
}

TEST_P(Rogues, AGreetingInAnothersNameIsRefusedEvenWithTheRightNonces) {
  rogue_->say(network::Greeting{2, false, friend_nonce_, node_nonce_});
  expect_ignored();
  EXPECT_EQ(rogue_->heard_of<network::Greeting>(), 0);
}

TEST_P(Rogues, AWrongNonceIsNotThatNode) {
  network::Greeting greeting = good_greeting(false);
  greeting.sender[3] ^= std::byte{1};
  rogue_->say(greeting);
  expect_lost("is not that node");
}

TEST_P(Rogues, FramesBeforeTheGreetingEndTheConnection) {
  node_->send(1, {}, {});  // the honest node begins
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<network::Greeting>() == 1; }));
  EXPECT_EQ(rogue_->messages, 0);  // nothing leaves before the greeting is answered
  rogue_->say(network::MessageFrame{MessageType::test, {}});
  expect_lost("before its sender's greeting");
}

TEST_P(Rogues, AMalformedFrameEndsTheConnection) {
  befriend();
  rogue_->say_bytes(pattern(20, 3), pattern(10, 3));
  expect_lost("a frame ");
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<network::Refusal>() == 1; }));
}

TEST_P(Rogues, ATruncatedFrameEndsTheConnection) {
  befriend();
  network::FrameHeader header;
  network::encode(network::PutPiece{1, 0, 10, 0, 5}, header);
  rogue_->say_bytes(header.span().first(header.size - 1), pattern(10, 1));
  expect_lost("malformed put piece frame");
}

TEST_P(Rogues, AnOversizedMessageEndsTheConnection) {
  befriend();
  rogue_->say(network::MessageFrame{MessageType::test, {}}, pattern(max_message_bytes + 1, 1));
  expect_lost("a payload of 16385 bytes");
}

TEST_P(Rogues, PutsOutsideOfTheSegmentEndTheConnection) {
  befriend();
  rogue_->say(network::PutPiece{1, 995, 6, 0, 5}, pattern(6, 1));
  expect_lost("outside of the segment");
  EXPECT_EQ(node_->segment, std::vector<std::byte>(1000));
  EXPECT_TRUE(node_->notifications.empty());
}

TEST_P(Rogues, GetsOutsideOfTheSegmentEndTheConnection) {
  befriend();
  rogue_->say(network::GetRequest{1, ~Offset{0} - 5, 5});
  expect_lost("outside of the segment");
}

TEST_P(Rogues, AnswersThatNobodyAskedForEndTheConnection) {
  befriend();
  rogue_->say(network::GetPiece{0, 0}, pattern(6, 1));
  expect_lost("not outstanding");
}

TEST_P(Rogues, AnswersWithOtherBytesEndTheConnectionAndLoseTheGet) {
  befriend();
  std::vector<std::byte> destination(10);
  CountedCompletion done;
  node_->transport->get(1, 0, ByteSpan(destination).first(8), &done);
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<network::GetRequest>() == 1; }));
  rogue_->say(network::GetPiece{0, 2}, pattern(7, 1));
  expect_lost("other bytes than were asked for");
  ASSERT_TRUE(drive([&] { return done.fired == 1; }));
  EXPECT_TRUE(done.lost);
  EXPECT_EQ(destination, std::vector<std::byte>(10));
}

TEST_P(Rogues, PiecesThatContradictEachOtherEndTheConnection) {
  befriend();
  rogue_->say(network::PutPiece{1, 0, 100, 0, 5}, pattern(10, 1));
  rogue_->say(network::PutPiece{1, 0, 100, 10, 6}, pattern(10, 1));
  expect_lost("contradict");
}

TEST_P(Rogues, MorePiecesThanBytesEndTheConnection) {
  befriend();
  rogue_->say(network::PutPiece{1, 0, 100, 0, 5}, pattern(60, 1));
  rogue_->say(network::PutPiece{1, 0, 100, 0, 5}, pattern(60, 1));
  expect_lost("more pieces than bytes");
}

TEST_P(Rogues, PutsThatNeverEndAreLimited) {
  befriend();
  for (std::uint64_t id = 0; id <= network::max_open_puts; ++id) {
    rogue_->say(network::PutPiece{id, 0, 100, 0, 5}, pattern(60, 1));
  }
  expect_lost("begun and not finished");
}

TEST_P(Rogues, PiecesMayComeInAnyOrder) {
  befriend();
  const std::vector<std::byte> bytes = pattern(90, 1);
  rogue_->say(network::PutPiece{1, 7, 90, 60, 5}, ConstByteSpan(bytes).subspan(60, 30));
  rogue_->say(network::PutPiece{2, 500, 60, 30, 6}, ConstByteSpan(bytes).subspan(30, 30));
  rogue_->say(network::PutPiece{1, 7, 90, 0, 5}, ConstByteSpan(bytes).first(30));
  rogue_->say(network::PutPiece{2, 500, 60, 0, 6}, ConstByteSpan(bytes).first(30));
  rogue_->say(network::PutPiece{1, 7, 90, 30, 5}, ConstByteSpan(bytes).subspan(30, 30));
  ASSERT_TRUE(drive([&] { return node_->notifications.size() == 2; }));
  EXPECT_EQ(node_->notifications, (std::vector<std::pair<NodeId, Notification>>{{1, 6}, {1, 5}}));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), node_->segment.begin() + 7));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 60, node_->segment.begin() + 500));
}

TEST_P(Rogues, AGoodbyeThatCountsTooFewEndsTheConnection) {
  befriend();
  rogue_->say(network::PutPiece{1, 0, 1, 0, 5}, pattern(1, 1));
  rogue_->say(network::Goodbye{0});
  expect_lost("more frames than its goodbye counts");
}

TEST_P(Rogues, AGoodbyeWaitsForAllThatItCounts) {
  befriend();
  rogue_->say(network::Goodbye{2});
  rogue_->say(network::PutPiece{1, 0, 1, 0, 5}, pattern(1, 1));
  ASSERT_TRUE(drive([&] { return node_->notifications.size() == 1; }));
  EXPECT_TRUE(node_->departures.empty());
  rogue_->say(network::PutPiece{2, 0, 1, 0, 6}, pattern(1, 1));
  ASSERT_TRUE(drive([&] { return rogue_->heard_of<network::GoodbyeAnswer>() == 1; }));
  EXPECT_EQ(node_->departures, std::vector<NodeId>{1});
  EXPECT_EQ(node_->notifications.size(), 2U);
}

TEST_P(Rogues, ASecondGoodbyeEndsTheConnection) {
  befriend();
  rogue_->say(network::Goodbye{5});
  rogue_->say(network::Goodbye{5});
  expect_lost("a second goodbye");
}

TEST_P(Rogues, AnAnswerToNoGoodbyeEndsTheConnection) {
  befriend();
  rogue_->say(network::GoodbyeAnswer{});
  expect_lost("never said");
}

TEST_P(Rogues, WhatComesAfterAGoodbyeIsSilent) {
  befriend();
  rogue_->say(network::Goodbye{0});
  rogue_->say(network::MessageFrame{MessageType::test, {}});
  ASSERT_TRUE(drive([&] { return node_->departures.size() == 1; }));
  expect_served();
  EXPECT_TRUE(node_->losses.empty());
}

}  // namespace
}  // namespace stretto::fabric::cluster
