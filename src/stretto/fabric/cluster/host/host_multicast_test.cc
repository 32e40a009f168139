#include "stretto/fabric/cluster/host/host_multicast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/base/test_support.h"
#include "stretto/fabric/cluster/test_node.h"

namespace stretto::fabric {
namespace {

using cluster::multicast_rings;

std::shared_ptr<Multicast> multicast(TestNode& from, const std::vector<NodeId>& to) {
  std::shared_ptr<Multicast> made;
  from.with([&](Endpoint& endpoint) { made = endpoint.multicast_to(to); });
  return made;
}

void send(TestNode& from, Multicast& to, std::uint64_t value, std::size_t bytes = sizeof(std::uint64_t)) {
  std::vector<std::byte> payload(bytes);
  std::memcpy(payload.data(), &value, sizeof value);
  from.with([&](Endpoint& endpoint) {
    endpoint.send_to_all(to, MessageType::test, bytes_of(from.endpoint().self()), payload);
  });
}

void destroy(TestNode& at, std::shared_ptr<Multicast>& multicast) {
  at.with([&](Endpoint&) { multicast.reset(); });
}

// The values that came, in their order.
std::vector<std::uint64_t> values_at(const TestNode& node) {
  std::vector<std::uint64_t> values;
  for (const TestNode::Received& message : node.messages) {
    values.push_back(0);
    std::memcpy(&values.back(), message.payload.data(), sizeof(std::uint64_t));
  }
  return values;
}

std::vector<std::uint64_t> sorted_values_at(const TestNode& node) {
  std::vector<std::uint64_t> values = values_at(node);
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<std::uint64_t> up_to(std::uint64_t end) {
  std::vector<std::uint64_t> values(end);
  for (std::uint64_t value = 0; value < end; ++value) values[value] = value;
  return values;
}

TEST(HostMulticast, ReachesAllOfThemOnceAndNobodyElse) {
  TestJob job(4);
  std::shared_ptr<Multicast> to = multicast(job[0], {1, 3});
  for (std::uint64_t value = 0; value < 5000; ++value) {
    send(job[0], *to, value, 8 + value % 700);
    if (value % 20 == 0) job.serve();
  }
  job.settle();
  EXPECT_EQ(sorted_values_at(job[1]), up_to(5000));
  EXPECT_EQ(sorted_values_at(job[3]), up_to(5000));
  EXPECT_TRUE(job[2].messages.empty());
  for (NodeId node = 0; node < 4; ++node) EXPECT_TRUE(job[node].lost.empty());
  destroy(job[0], to);
}

TEST(HostMulticast, WhoAsksForTheSamePeersGetsTheSame) {
  TestJob job(3);
  const std::shared_ptr<Multicast> one = multicast(job[0], {1, 2});
  EXPECT_EQ(multicast(job[0], {1, 2}), one);
  EXPECT_NE(multicast(job[0], {2, 1}), one);
  EXPECT_NE(multicast(job[0], {1}), one);
  std::weak_ptr<Multicast> of_one_call = multicast(job[0], {2});
  EXPECT_FALSE(of_one_call.expired()) << "calls that ask each for themselves find it again, and its ring";
  for (const std::vector<NodeId>& others : std::vector<std::vector<NodeId>>{{1}, {2, 1}, {1, 2}})
    multicast(job[0], others);
  EXPECT_FALSE(of_one_call.expired());
  EXPECT_EQ(multicast(job[0], {0, 1}), nullptr) << "this node is no peer of itself";
  EXPECT_EQ(multicast(job[0], {}), nullptr);
  job[0].with([&](Endpoint& endpoint) { EXPECT_THROW(endpoint.multicast_to(std::vector<NodeId>{1, 3}), Error); });
}

TEST(HostMulticast, TooLongAMessageIsMisuse) {
  TestJob job(3);
  const std::shared_ptr<Multicast> to = multicast(job[0], {1, 2});
  EXPECT_THROW(send(job[0], *to, 0, max_message_bytes + 1), Error);
}

// One that reads nothing meanwhile: the others go on getting what finds no room in the ring, and it gets all in the
// end.
TEST(HostMulticast, WhoIsSlowKeepsNobodyWaiting) {
  TestJob job(3);
  const std::shared_ptr<Multicast> to = multicast(job[0], {1, 2});
  constexpr std::uint64_t count = 10'000;
  for (std::uint64_t value = 0; value < count; ++value) {
    send(job[0], *to, value);
    if (value % 100 == 0) job[1].serve();
  }
  while (job[1].messages.size() < count) {
    job[0].serve();
    job[1].serve();
  }
  EXPECT_TRUE(job[2].messages.empty());
  job.settle();
  EXPECT_EQ(sorted_values_at(job[1]), up_to(count));
  EXPECT_EQ(sorted_values_at(job[2]), up_to(count));
}

TEST(HostMulticast, WhoSleepsIsWoken) {
  TestJob job(3);
  const std::shared_ptr<Multicast> to = multicast(job[0], {1, 2});
  constexpr std::uint64_t count = 300;
  const auto listen = [&job](NodeId node) {
    return std::thread([&job, node] { job[node].serve_until([&] { return job[node].messages.size() == count; }); });
  };
  std::thread first = listen(1);
  std::thread second = listen(2);
  for (std::uint64_t value = 0; value < count; ++value) {
    send(job[0], *to, value);
    std::this_thread::yield();
  }
  first.join();
  second.join();
  EXPECT_EQ(sorted_values_at(job[2]), up_to(count));
}

TEST(HostMulticast, WhoIsLostOrLeavesIsLeftOut) {
  for (const bool in_good_order : {false, true}) {
    TestJob job(4);
    std::shared_ptr<Multicast> to = multicast(job[0], {1, 2, 3});
    for (std::uint64_t value = 0; value < 10; ++value) send(job[0], *to, value);
    job.settle();
    EXPECT_EQ(job[2].messages.size(), 10U);
    if (in_good_order) job[2].close();
    job.nodes[2].reset();
    job.settle();
    constexpr std::uint64_t count = 3000;  // the ring goes round without it
    for (std::uint64_t value = 10; value < count; ++value) {
      send(job[0], *to, value);
      if (value % 100 == 0) job.serve();
    }
    job.settle();
    EXPECT_EQ(sorted_values_at(job[1]), up_to(count));
    EXPECT_EQ(sorted_values_at(job[3]), up_to(count));
    destroy(job[0], to);
  }
}

// Declared lost by the sender, it reads on until it hears of that: what has not been written over.
TEST(HostMulticast, WhoIsLostButLivesReadsNothingThatCameLater) {
  TestJob job(3);
  std::shared_ptr<Multicast> to = multicast(job[0], {1, 2});
  for (std::uint64_t value = 0; value < 100; ++value) send(job[0], *to, value);
  job[0].with([](Endpoint& endpoint) { endpoint.lose(1, Error(ErrorCode::peer_lost, "said the test")); });
  constexpr std::uint64_t count = 5000;
  for (std::uint64_t value = 100; value < count; ++value) {
    send(job[0], *to, value);
    if (value % 100 == 0) job[2].serve();
  }
  job.settle();
  EXPECT_EQ(values_at(job[1]), up_to(100));
  EXPECT_TRUE(job[1].lost.contains(0));
  EXPECT_EQ(sorted_values_at(job[2]), up_to(count));
  destroy(job[0], to);
}

// The same of one that has read all that came before.
TEST(HostMulticast, WhoHasReadAllAndIsLostReadsNothingThatCameLater) {
  TestJob job(3);
  std::shared_ptr<Multicast> to = multicast(job[0], {1, 2});
  constexpr std::uint64_t before = 129;  // all but the first go by the ring, and are given back at once
  for (std::uint64_t value = 0; value < before; ++value) send(job[0], *to, value);
  while (job[1].messages.size() < before) job[1].serve();
  job[0].with([](Endpoint& endpoint) { endpoint.lose(1, Error(ErrorCode::peer_lost, "said the test")); });
  for (std::uint64_t value = before; value < 140; ++value) send(job[0], *to, value);
  job.settle();
  EXPECT_EQ(values_at(job[1]), up_to(before));
  EXPECT_TRUE(job[1].lost.contains(0));
  EXPECT_EQ(sorted_values_at(job[2]), up_to(140));
  destroy(job[0], to);
}

// More lists than rings, of which one sends while the others rest: it gets the ring of one of these, which then goes on
// without, or gets one again.
TEST(HostMulticast, RingsOfWhoRestsAreCalledBack) {
  TestJob job(4);
  std::vector<std::shared_ptr<Multicast>> all;
  for (const std::vector<NodeId>& peers :
       std::vector<std::vector<NodeId>>{{1}, {2}, {3}, {1, 2}, {1, 3}, {2, 3}, {1, 2, 3}}) {
    all.push_back(multicast(job[0], peers));
  }
  std::uint64_t sent = 0;
  const auto send_often = [&](Multicast& to, std::uint64_t times) {
    for (; times > 0; --times) {
      send(job[0], to, sent++);
      job.serve();
    }
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::shared_ptr<Multicast>& each : all) send_often(*each, 10);
    send_often(*all.back(), 300);
    for (const std::shared_ptr<Multicast>& each : all) send_often(*each, 200);
  }
  job.settle();
  const std::uint64_t of_each = sent - 3 * 300;  // but for the last list's
  for (NodeId node = 1; node < 4; ++node) {
    std::vector<std::uint64_t> values = sorted_values_at(job[node]);
    EXPECT_EQ(values.size(), of_each / 7 * 4 + 3 * 300);
    EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
    EXPECT_TRUE(job[node].lost.empty());
  }
  for (std::shared_ptr<Multicast>& each : all) destroy(job[0], each);
}

// What a node sent to several before its end is not lost.
TEST(HostMulticast, LastWordsArrive) {
  TestJob job(3);
  std::shared_ptr<Multicast> to = multicast(job[0], {1, 2});
  for (std::uint64_t value = 0; value < 50; ++value) send(job[0], *to, value);
  destroy(job[0], to);
  job.nodes[0].reset();
  job.settle();
  for (NodeId node = 1; node < 3; ++node) {
    EXPECT_EQ(sorted_values_at(job[node]), up_to(50));
    EXPECT_TRUE(job[node].lost.contains(0));
  }
}

// More lists of peers than rings, made, used and destroyed in any order, served now and then: what is sent arrives,
// once, where it belongs, also where a ring had other readers before.
TEST(HostMulticast, RingsChangeHandsSeeds) {
  for (const std::uint64_t seed : test::seeds(20)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    constexpr NodeId size = 5;
    TestJob job(size);
    struct Use {
      std::vector<NodeId> peers;
      std::shared_ptr<Multicast> to;
    };
    std::vector<Use> uses;
    std::vector<std::vector<std::uint64_t>> expected(size);
    const auto pick_peers = [&] {
      std::vector<NodeId> peers;
      for (NodeId peer = 1; peer < size; ++peer) {
        if (random.below(2) == 0) peers.push_back(peer);
      }
      if (peers.empty()) peers.push_back(1 + static_cast<NodeId>(random.below(size - 1)));
      return peers;
    };
    for (std::uint64_t value = 0; value < 20'000; ++value) {
      if (uses.size() < multicast_rings + 3 && random.below(20) == 0) {
        const std::vector<NodeId> peers = pick_peers();
        uses.push_back({peers, multicast(job[0], peers)});
      }
      if (uses.empty()) continue;
      const std::size_t at = random.below(uses.size());
      if (random.below(100) == 0) {
        destroy(job[0], uses[at].to);
        uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      for (const NodeId peer : uses[at].peers) expected[peer].push_back(value);
      send(job[0], *uses[at].to, value, 8 + random.below(random.below(10) == 0 ? 3000 : 100));
      if (random.below(4) == 0) job[static_cast<NodeId>(random.below(size))].serve();
    }
    job.settle();
    for (NodeId node = 1; node < size; ++node) {
      EXPECT_EQ(sorted_values_at(job[node]), expected[node]) << "node " << node;
      EXPECT_TRUE(job[node].lost.empty());
    }
    for (Use& use : uses) destroy(job[0], use.to);
  }
}

}  // namespace
}  // namespace stretto::fabric
