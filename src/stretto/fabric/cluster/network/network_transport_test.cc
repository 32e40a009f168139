#include "stretto/fabric/cluster/network/network_transport.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "stretto/fabric/cluster/network/fake_node.h"
#include "stretto/fabric/cluster/network/outbox.h"

namespace stretto::fabric::cluster {
namespace {

using namespace network_test;

constexpr std::size_t mib = std::size_t{1} << 20U;

class EachNetwork : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(NetworkTransport, EachNetwork, ::testing::ValuesIn(networks_under_test),
                         [](const auto& test) { return carrier_of(test.param); });

TEST_P(EachNetwork, CarriesMessagesOfAllSizes) {
  FakeJob job(GetParam(), 2);
  std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> sent;
  for (const std::size_t header : {std::size_t{0}, std::size_t{1}, std::size_t{40}, max_header_bytes}) {
    for (const std::size_t payload :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{1000}, std::size_t{7920}, std::size_t{8192},
          std::size_t{8200}, max_message_bytes - max_header_bytes, max_message_bytes - header}) {
      sent.emplace_back(pattern(header, payload), pattern(payload, header + 1));
    }
  }
  for (const auto& [header, payload] : sent) {
    // The copies end before anything is driven: nothing of the caller's may be used later.
    std::vector<std::byte> header_copy = header;
    std::vector<std::byte> payload_copy = payload;
    job[0].send(1, header_copy, payload_copy);
    std::fill(header_copy.begin(), header_copy.end(), std::byte{0});
    std::fill(payload_copy.begin(), payload_copy.end(), std::byte{0});
  }
  ASSERT_TRUE(job.drive([&] { return job[1].received.size() == sent.size(); }));
  auto expected = sent;
  for (const FakeNode::Received& message : job[1].received) {
    EXPECT_EQ(message.from, 0U);
    EXPECT_EQ(message.type, MessageType::test);
    const auto found = std::find(expected.begin(), expected.end(), std::pair(message.header, message.payload));
    ASSERT_NE(found, expected.end());
    expected.erase(found);
  }
  EXPECT_TRUE(job[0].losses.empty());
  EXPECT_TRUE(job[1].losses.empty());
}

TEST_P(EachNetwork, SaysThatTcpCarriedIt) {
  FakeJob job(GetParam(), 2);
  EXPECT_TRUE(job[0].transport->networks(1).empty());
  job[0].send(1, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[1].received.size() == 1; }));
  EXPECT_EQ(job[0].transport->networks(1), std::vector<std::string>{"tcp/lo"});
  EXPECT_EQ(job[1].transport->networks(0), std::vector<std::string>{"tcp/lo"});
}

TEST_P(EachNetwork, TenThousandMessagesEachWayArriveExactlyOnce) {
  constexpr std::size_t count = 10000;
  FakeJob job(GetParam(), 3);
  // seen[to][from][number]
  std::vector<std::vector<std::vector<int>>> seen(3, std::vector<std::vector<int>>(3, std::vector<int>(count)));
  std::size_t arrived = 0;
  for (NodeId to = 0; to < 3; ++to) {
    job[to].on_receive = [&, to](const Message& message) {
      std::uint32_t number = count;
      std::memcpy(&number, message.header.data(), sizeof(number));
      ASSERT_LT(number, count);
      ASSERT_EQ(message.payload.size(), number % 64);
      ++seen[to][message.from][number];
      ++arrived;
    };
  }
  const std::vector<std::byte> payload(64);
  for (std::uint32_t number = 0; number < count; ++number) {
    for (const auto& [from, to] : {std::pair<NodeId, NodeId>{0, 1}, {1, 0}, {0, 2}, {2, 0}}) {
      job[from].send(to, bytes_of(number), ConstByteSpan(payload).first(number % 64));
    }
    if (number % 100 == 0) job[number / 100 % 3].step();
  }
  ASSERT_TRUE(job.drive([&] { return arrived >= 4 * count; }));
  for (const auto& [from, to] : {std::pair<NodeId, NodeId>{0, 1}, {1, 0}, {0, 2}, {2, 0}}) {
    EXPECT_EQ(seen[to][from], std::vector<int>(count, 1)) << from << " to " << to;
  }
}

class NetworkTransfer : public ::testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

TEST_P(NetworkTransfer, PutLandsAndNotifies) {
  const auto [network, bytes] = GetParam();
  FakeJob job(network, 2, 8 * mib + 100);
  std::vector<std::byte> source = pattern(bytes, 3);
  CountedCompletion done;
  job[0].transport->put(1, 37, source, 0xfeedfacecafeU, &done);
  job[0].transport->put(1, 8 * mib + 100, {}, 7, nullptr);  // nothing, at the very end
  ASSERT_TRUE(job.drive([&] { return job[1].notifications.size() == 2 && done.fired > 0; }));
  EXPECT_FALSE(done.lost);
  EXPECT_TRUE(std::equal(source.begin(), source.end(), job[1].segment.begin() + 37));
  EXPECT_EQ(std::count(job[1].notifications.begin(), job[1].notifications.end(),
                       std::pair<NodeId, Notification>(0, 0xfeedfacecafeU)),
            1);
  EXPECT_TRUE(job[1].losses.empty());
  // Nothing beside it was touched.
  EXPECT_EQ(job[1].segment[36], std::byte{0});
  EXPECT_EQ(job[1].segment[37 + bytes], std::byte{0});
}

TEST_P(NetworkTransfer, GetFills) {
  const auto [network, bytes] = GetParam();
  FakeJob job(network, 2, 8 * mib + 100);
  job[1].segment = pattern(job[1].segment.size(), 5);
  std::vector<std::byte> destination(bytes + 2);
  CountedCompletion done;
  job[0].transport->get(1, 61, ByteSpan(destination).subspan(1, bytes), &done);
  ASSERT_TRUE(job.drive([&] { return done.fired > 0; }));
  EXPECT_FALSE(done.lost);
  EXPECT_TRUE(std::equal(destination.begin() + 1, destination.end() - 1, job[1].segment.begin() + 61));
  EXPECT_EQ(destination.front(), std::byte{0});
  EXPECT_EQ(destination.back(), std::byte{0});
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, NetworkTransfer,
    ::testing::Combine(::testing::ValuesIn(networks_under_test),
                       ::testing::Values(0, 1, 8, 4096, 8192, 61439, 61440, 61441, network::most_piece_bytes - 1,
                                         network::most_piece_bytes, network::most_piece_bytes + 1, 1000000, 8 * mib)),
    [](const auto& test) { return carrier_of(std::get<0>(test.param)) + std::to_string(std::get<1>(test.param)); });

TEST_P(EachNetwork, ManyTransfersAndMessagesAtOnceAllComplete) {
  constexpr std::size_t count = 200;
  constexpr std::size_t bytes = 100000;
  FakeJob job(GetParam(), 2, count * bytes);
  const std::vector<std::byte> source = pattern(count * bytes, 1);
  job[1].segment = source;
  std::vector<std::byte> fetched(count * bytes);
  std::vector<CountedCompletion> puts(count);
  std::vector<CountedCompletion> gets(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * bytes;
    job[0].transport->get(1, at, ByteSpan(fetched).subspan(at, bytes), &gets[i]);
    job[1].transport->put(0, at, ConstByteSpan(source).subspan(at, bytes), i, &puts[i]);
    job[0].send(1, {}, ConstByteSpan(source).first(10000));
  }
  const auto all_fired = [](const std::vector<CountedCompletion>& all) {
    return std::all_of(all.begin(), all.end(), [](const CountedCompletion& c) { return c.fired > 0; });
  };
  ASSERT_TRUE(job.drive([&] {
    return job[0].notifications.size() >= count && job[1].received.size() >= count && all_fired(puts) &&
           all_fired(gets);
  }));
  EXPECT_EQ(job[0].segment, source);
  EXPECT_EQ(fetched, source);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(std::pair(puts[i].fired, puts[i].lost), std::pair(1, false));
    EXPECT_EQ(std::pair(gets[i].fired, gets[i].lost), std::pair(1, false));
  }
}

TEST_P(EachNetwork, ConnectsToAllPeersButTheLost) {
  FakeJob job(GetParam(), 4);
  job[1].transport->disconnect(3);
  job[3].transport->disconnect(1);
  for (NodeId id = 0; id < 4; ++id) job[id].transport->connect_all();
  const auto all_connected = [&] {
    return job[0].transport->all_connected() && job[1].transport->all_connected() &&
           job[2].transport->all_connected() && job[3].transport->all_connected();
  };
  EXPECT_FALSE(all_connected());
  ASSERT_TRUE(job.drive(all_connected));
  EXPECT_EQ(job[2].transport->networks(0), std::vector<std::string>{"tcp/lo"});
  EXPECT_TRUE(job[3].transport->networks(1).empty());
  EXPECT_TRUE(job[0].losses.empty());
}

TEST_P(EachNetwork, BothEndsMayConnectAtOnce) {
  for (int round = 0; round < 10; ++round) {
    FakeJob job(GetParam(), 3);
    for (NodeId from = 0; from < 3; ++from) {
      for (NodeId to = 0; to < 3; ++to) {
        if (from != to) job[from].send(to, {}, {});
      }
    }
    ASSERT_TRUE(job.drive(
        [&] { return job[0].received.size() == 2 && job[1].received.size() == 2 && job[2].received.size() == 2; }));
    for (NodeId id = 0; id < 3; ++id) {
      EXPECT_EQ(job[id].transport->strangers(), 0U);
      EXPECT_TRUE(job[id].losses.empty());
      EXPECT_NE(job[id].received[0].from, job[id].received[1].from);
    }
  }
}

TEST_P(EachNetwork, AHandlerMaySendFromInside) {
  FakeJob job(GetParam(), 2);
  int returned = 0;
  job[1].on_receive = [&](const Message& message) {
    job[1].transport->send(message.from, MessageType::test_reply, message.header, message.payload);
  };
  job[0].on_receive = [&](const Message& message) {
    EXPECT_EQ(message.type, MessageType::test_reply);
    if (++returned < 100) job[0].send(1, {}, pattern(12000, 4));
  };
  job[0].send(1, {}, pattern(12000, 4));
  ASSERT_TRUE(job.drive([&] { return returned == 100; }));
}

// Whoever looks after a node may let what is on its way flow, at any time, beside small messages.
TEST_P(EachNetwork, WhatIsLetFlowArrives) {
  FakeJob job(GetParam(), 2, 8 * mib);
  const std::vector<std::byte> source = pattern(8 * mib, 5);
  constexpr std::size_t parts = 16;
  constexpr std::size_t bytes = 8 * mib / parts;
  std::array<CountedCompletion, 2 * parts> puts;
  for (std::size_t i = 0; i < puts.size(); ++i) {
    const auto from = static_cast<NodeId>(i % 2);
    const std::size_t at = i / 2 * bytes;
    job[from].transport->put(1 - from, at, ConstByteSpan(source).subspan(at, bytes), i / 2, &puts[i]);
    job[from].send(1 - from, {}, pattern(100, i));
  }
  bool has_flowed = false;
  ASSERT_TRUE(job.drive([&] {
    for (const NodeId node : {NodeId{0}, NodeId{1}}) has_flowed |= job[node].transport->let_flow();
    return job[0].notifications.size() == parts && job[1].notifications.size() == parts &&
           job[0].received.size() == parts && job[1].received.size() == parts;
  }));
  EXPECT_EQ(job[0].segment, source);
  EXPECT_EQ(job[1].segment, source);
  EXPECT_EQ(has_flowed, carrier_of(GetParam()) == "tcp");
}

// Bad ranges, and the end of a connection.

TEST_P(EachNetwork, APutOutsideOfTheSegmentCostsTheConnection) {
  FakeJob job(GetParam(), 2, 1000);
  const std::vector<std::byte> source(2 * network::most_piece_bytes);
  CountedCompletion done;
  job[0].transport->put(1, 990, source, 1, &done);
  ASSERT_TRUE(job.drive([&] { return job[0].lost(1) && done.fired > 0; }));
  ASSERT_EQ(job[1].losses.size(), 1U);
  EXPECT_EQ(job[1].losses[0].second.code(), ErrorCode::bad_input);
  EXPECT_TRUE(job[1].notifications.empty());
  EXPECT_EQ(job[0].losses[0].second.code(), ErrorCode::peer_lost);
}

TEST_P(EachNetwork, AGetOutsideOfTheSegmentCostsTheConnection) {
  for (const Offset source : {Offset{999}, Offset{1001}, ~Offset{0} - 1}) {
    FakeJob job(GetParam(), 2, 1000);
    std::vector<std::byte> destination(2);
    if (source == 1001) destination.clear();
    CountedCompletion done;
    if (source == ~Offset{0} - 1) destination.resize(1);
    job[0].transport->get(1, source, destination, &done);
    ASSERT_TRUE(job.drive([&] { return job[0].lost(1) && done.fired > 0; }));
    EXPECT_EQ(done.fired, 1);
    EXPECT_TRUE(done.lost);
    ASSERT_EQ(job[1].losses.size(), 1U);
    EXPECT_EQ(job[1].losses[0].second.code(), ErrorCode::bad_input);
  }
}

TEST_P(EachNetwork, DisconnectingFiresAllCompletionsOnceAndIsSeenByThePeer) {
  FakeJob job(GetParam(), 2, 8 * mib);
  job[0].send(1, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[1].received.size() == 1; }));

  const std::vector<std::byte> source(8 * mib);
  std::vector<std::byte> destination(8 * mib);
  std::vector<CountedCompletion> done(6);
  for (std::size_t i = 0; i < 3; ++i) {
    job[0].transport->put(1, 0, source, i, &done[i]);
    job[0].transport->get(1, 0, destination, &done[3 + i]);
  }
  job[0].step();
  job[1].step();
  job[0].transport->disconnect(1);
  const auto all_fired = [&] {
    return std::all_of(done.begin(), done.end(), [](const CountedCompletion& c) { return c.fired > 0; });
  };
  ASSERT_TRUE(job.drive([&] { return all_fired() && job[1].lost(0); }));
  for (int i = 0; i < 1000; ++i) job[0].step();
  for (const CountedCompletion& completion : done) {
    EXPECT_EQ(completion.fired, 1);
    EXPECT_TRUE(completion.lost);
  }
  EXPECT_TRUE(job[0].losses.empty());  // the endpoint knows, it was its word
  // By word, or, since the connection was full, by the keep-alive.
  EXPECT_EQ(job[1].losses[0].second.code(), ErrorCode::peer_lost);
  EXPECT_TRUE(job[1].losses[0].second.message().starts_with("node 0: ")) << job[1].losses[0].second.message();

  // Operations towards it are dropped.
  CountedCompletion late;
  job[0].send(1, {}, {});
  job[0].transport->put(1, 0, source, 1, &late);
  job[0].step();
  EXPECT_EQ(std::pair(late.fired, late.lost), std::pair(1, true));
}

TEST_P(EachNetwork, ADisconnectFromInsideOfAHandlerEndsWhatItSent) {
  FakeJob job(GetParam(), 2);
  int handled = 0;
  job[1].on_receive = [&](const Message& message) {
    ++handled;
    job[1].on_peer_lost(message.from, Error(ErrorCode::bad_input, "a handler refused it"));
  };
  for (int i = 0; i < 10; ++i) job[0].send(1, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[0].lost(1); }));
  EXPECT_EQ(handled, 1);
}

TEST_P(EachNetwork, WhoWasLostBeforeItConnectedIsRefused) {
  FakeJob job(GetParam(), 2);
  job[1].transport->disconnect(0);
  CountedCompletion done;
  job[0].transport->get(1, 0, {}, &done);
  ASSERT_TRUE(job.drive([&] { return job[0].lost(1) && done.fired > 0; }));
  EXPECT_NE(job[0].losses[0].second.message().find("declared this node lost"), std::string::npos);
  EXPECT_TRUE(job[1].received.empty());
  EXPECT_EQ(job[1].transport->strangers(), 1U);
}

TEST_P(EachNetwork, APeerThatEndsWithoutAGoodbyeIsLost) {
  FakeJob job(GetParam(), 2);
  job[1].send(0, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[0].received.size() == 1; }));
  job[1].send(0, {}, pattern(16000, 1));
  job.end(1);
  ASSERT_TRUE(job.drive([&] { return job[0].lost(1); }));
  EXPECT_TRUE(job[0].departures.empty());
}

TEST_P(EachNetwork, AnAddressThatCannotBeHadCostsThatPeerOnly) {
  FakeJob job(GetParam(), 3);
  job.addresses[1] = {std::byte{1}, std::byte{2}};
  CountedCompletion done;
  job[0].transport->put(1, 0, {}, 0, &done);
  ASSERT_TRUE(job[0].lost(1));
  EXPECT_EQ(job[0].losses[0].second.code(), ErrorCode::bad_input);
  job[0].send(2, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[2].received.size() == 1 && done.fired == 1; }));
  EXPECT_TRUE(done.lost);
}

// Leaving.

TEST_P(EachNetwork, LeavingIsSeenAsSuchAfterAllThatWasSent) {
  FakeJob job(GetParam(), 3, 8 * mib);
  const std::vector<std::byte> source = pattern(8 * mib, 8);
  job[0].send(1, {}, pattern(16000, 1));
  job[0].transport->put(1, 0, source, 77, nullptr);
  job[2].send(0, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[0].transport->flushed() && job[0].received.size() == 1; }));
  job[0].transport->leave();
  ASSERT_TRUE(job.drive([&] { return job[0].transport->left(); }));
  EXPECT_EQ(job[1].departures, std::vector<NodeId>{0});
  EXPECT_EQ(job[2].departures, std::vector<NodeId>{0});
  EXPECT_EQ(job[1].received.size(), 1U);
  EXPECT_EQ(job[1].notifications.size(), 1U);
  EXPECT_EQ(job[1].segment, source);
  job.end(0);
  job[1].send(2, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[2].received.size() == 1; }));
  for (int i = 0; i < 1000; ++i) job[1].step(), job[2].step();
  EXPECT_TRUE(job[1].losses.empty());
  EXPECT_TRUE(job[2].losses.empty());
}

TEST_P(EachNetwork, AllMayLeaveAtOnce) {
  FakeJob job(GetParam(), 3);
  for (NodeId from = 0; from < 3; ++from) job[from].send((from + 1) % 3, {}, {});
  ASSERT_TRUE(job.drive(
      [&] { return job[0].received.size() == 1 && job[1].received.size() == 1 && job[2].received.size() == 1; }));
  for (NodeId id = 0; id < 3; ++id) job[id].transport->leave();
  ASSERT_TRUE(
      job.drive([&] { return job[0].transport->left() && job[1].transport->left() && job[2].transport->left(); }));
  for (NodeId id = 0; id < 3; ++id) EXPECT_TRUE(job[id].losses.empty());
}

TEST_P(EachNetwork, WhatIsOutstandingTowardsOneWhoLeavesIsLostNotForgotten) {
  FakeJob job(GetParam(), 2, 100);
  job[0].send(1, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[1].received.size() == 1; }));
  job[0].transport->leave();
  std::vector<std::byte> destination(100);
  CountedCompletion done;
  job[1].transport->get(0, 0, destination, &done);
  ASSERT_TRUE(job.drive([&] { return done.fired > 0 && job[0].transport->left(); }));
  EXPECT_TRUE(done.lost);
  EXPECT_EQ(job[1].departures, std::vector<NodeId>{0});
}

TEST_P(EachNetwork, WhoNeverUsedAConnectionLeavesAtOnce) {
  FakeJob job(GetParam(), 2);
  EXPECT_TRUE(job[0].transport->flushed());
  job[0].transport->leave();
  EXPECT_TRUE(job[0].transport->left());
}

// Sleeping.

bool readable(const FakeNode& node, int timeout_ms) {
  pollfd entry{node.transport->descriptor(), POLLIN, 0};
  return poll(&entry, 1, timeout_ms) == 1;
}

TEST_P(EachNetwork, TheDescriptorWakesASleeper) {
  constexpr int long_enough = 60000;  // never waited for
  FakeJob job(GetParam(), 2);
  job[0].send(1, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[1].received.size() == 1; }));
  for (std::size_t round = 2; round < 12; ++round) {
    while (!job[0].transport->arm(Alarm::none)) job[0].step();
    while (!job[1].transport->arm(Alarm::none)) job[1].step();
    EXPECT_FALSE(readable(job[1], 0));
    job[0].transport->disarm();
    job[0].send(1, {}, pattern(round * 1000, round));
    while (!job[0].transport->flushed()) job[0].step();
    ASSERT_TRUE(readable(job[1], long_enough));
    job[1].transport->disarm();
    ASSERT_TRUE(job.drive([&] { return job[1].received.size() == round; }));
  }
  // The end of a peer wakes, too.
  while (!job[1].transport->arm(Alarm::none)) job[1].step();
  job.end(0);
  ASSERT_TRUE(readable(job[1], long_enough));
  ASSERT_TRUE(job.drive([&] { return job[1].lost(0); }));
}

TEST_P(EachNetwork, ADisconnectIsFinishedBeforeOneSleeps) {
  FakeJob job(GetParam(), 2);
  job[0].send(1, {}, {});
  ASSERT_TRUE(job.drive([&] { return job[1].received.size() == 1; }));
  job[0].transport->disconnect(1);
  EXPECT_FALSE(job[0].transport->arm(Alarm::none));
  ASSERT_TRUE(job.drive([&] { return job[0].transport->arm(Alarm::none); }));
  // From here on node 0 sleeps for ever.
  while (!job[1].lost(0)) job[1].step();
}

}  // namespace
}  // namespace stretto::fabric::cluster
