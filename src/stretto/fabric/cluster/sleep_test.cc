// Sleeping and waking between nodes of a host: nothing is overslept, and nobody rings without need.

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "stretto/base/random.h"
#include "stretto/fabric/burst.h"
#include "stretto/fabric/cluster/test_node.h"

namespace stretto::fabric {
namespace {

bool readable(Endpoint& endpoint) {
  pollfd query{endpoint.descriptor(), POLLIN, 0};
  return poll(&query, 1, 0) == 1;
}

TEST(ClusterSleep, AnIdleNodeIsNotWoken) {
  TestJob job(4);
  job[0].send(1, bytes_of(std::uint64_t{1}));
  job.settle();
  for (NodeId node = 0; node < 4; ++node) {
    ASSERT_TRUE(job[node].endpoint().arm(Alarm::none));
    EXPECT_FALSE(readable(job[node].endpoint())) << "node " << node << " would spin";
  }
}

TEST(ClusterSleep, AMessageWakesItsReceiverAlone) {
  TestJob job(3);
  job.settle();
  for (NodeId node = 1; node < 3; ++node) ASSERT_TRUE(job[node].endpoint().arm(Alarm::none));
  job[0].send(1, bytes_of(std::uint64_t{1}));
  EXPECT_TRUE(readable(job[1].endpoint()));
  EXPECT_FALSE(readable(job[2].endpoint()));
  job[1].endpoint().disarm();
  job.serve_until([&] { return job[1].messages.size() == 1; });
  ASSERT_TRUE(job[1].endpoint().arm(Alarm::none)) << "the bell that rang is forgotten";
  EXPECT_FALSE(readable(job[1].endpoint()));
}

TEST(ClusterSleep, ABurstWakesAllItsReceiversAtItsEnd) {
  TestJob job(4);
  job.settle();
  for (NodeId node = 1; node < 4; ++node) ASSERT_TRUE(job[node].endpoint().arm(Alarm::none));
  job[0].with([&](Endpoint& endpoint) {
    {
      const Burst burst(endpoint);
      for (const NodeId to : {1U, 2U, 1U}) endpoint.send(to, MessageType::test, {}, bytes_of(std::uint64_t{to}));
      for (NodeId node = 1; node < 4; ++node) EXPECT_FALSE(readable(job[node].endpoint())) << "too early";
    }
    EXPECT_TRUE(readable(job[1].endpoint()));
    EXPECT_TRUE(readable(job[2].endpoint()));
    EXPECT_FALSE(readable(job[3].endpoint())) << "nothing was sent there";
    endpoint.send(3, MessageType::test, {}, bytes_of(std::uint64_t{3}));
    EXPECT_TRUE(readable(job[3].endpoint())) << "the burst is over";
  });
  for (NodeId node = 1; node < 4; ++node) job[node].endpoint().disarm();
  job.serve_until([&] { return job[1].messages.size() == 2 && job[2].messages.size() == 1; });
}

TEST(ClusterSleep, OfALongBurstNobodyIsForgotten) {
  TestJob job(2);
  job.settle();
  constexpr std::size_t count = 3000;  // more than are noted, and than find room in a ring
  ASSERT_TRUE(job[1].endpoint().arm(Alarm::none));
  job[0].with([&](Endpoint& endpoint) {
    const Burst burst(endpoint);
    for (std::uint64_t i = 0; i < count; ++i) endpoint.send(1, MessageType::test, {}, bytes_of(i));
  });
  EXPECT_TRUE(readable(job[1].endpoint()));
  job[1].endpoint().disarm();
  job.serve_until([&] { return job[1].messages.size() == count; });
}

TEST(ClusterSleep, WhoPollsIsNotRung) {
  TestJob job(2);
  job.settle();
  ASSERT_TRUE(job[1].endpoint().arm(Alarm::none));
  job[1].endpoint().disarm();
  job[0].send(1, bytes_of(std::uint64_t{1}));
  EXPECT_FALSE(readable(job[1].endpoint()));
}

TEST(ClusterSleep, WhoHasSomethingToDoDoesNotSleep) {
  TestJob job(2);
  job.settle();
  job[0].send(1, bytes_of(std::uint64_t{1}));
  EXPECT_FALSE(job[1].endpoint().arm(Alarm::none));
  EXPECT_FALSE(readable(job[1].endpoint())) << "and nobody has been told to ring";
  job.serve_until([&] { return !job[1].messages.empty(); });
  EXPECT_TRUE(job[1].endpoint().arm(Alarm::none));
}

TEST(ClusterSleep, CreditsWakeASenderWhoseQueueWaits) {
  TestJob job(2);
  job.settle();
  constexpr std::size_t count = 3000;
  for (std::uint64_t i = 0; i < count; ++i) job[0].send(1, bytes_of(i));
  job[0].serve();
  ASSERT_TRUE(job[0].endpoint().arm(Alarm::none)) << "the ring is full: there is nothing to do";
  EXPECT_FALSE(readable(job[0].endpoint()));
  while (!readable(job[0].endpoint())) ASSERT_TRUE(job[1].serve()) << "the receiver is done and nobody woke the sender";
  job[0].endpoint().disarm();
  job.serve_until([&] { return job[1].messages.size() == count; });
}

TEST(ClusterSleep, AMessageToOneselfNeedsNoBell) {
  TestJob job(1);
  job[0].send(0, bytes_of(std::uint64_t{1}));
  EXPECT_EQ(job[0].messages.size(), 1U);
}

// Two threads, asleep whenever they have nothing to do; a wake-up that is lost hangs the test.
TEST(ClusterSleep, NoWakeUpIsLost) {
  TestJob job(2);
  constexpr std::uint64_t rounds = 3000;
  std::atomic<int> playing{2};
  const auto play = [&](NodeId self) {
    TestNode& node = job[self];
    Random random(21 + self);
    std::uint64_t sent = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      // Bursts now and then, larger than the ring, so that credits have to wake, too.
      const std::uint64_t burst = round % 100 == 0 ? 1500 : 1;
      for (std::uint64_t i = 0; i < burst; ++i, ++sent) node.send(1 - self, bytes_of(sent));
      for (std::uint64_t spin = random.below(400); spin > 0; --spin) node.serve();
      node.serve_until([&] { return node.messages.size() >= sent; });
    }
    // The last burst's end may still wait here for credits that the other gives while it reads.
    for (--playing; playing.load() != 0; std::this_thread::yield()) node.serve();
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  job.settle();
  EXPECT_EQ(job[0].messages.size(), job[1].messages.size());
}

// The writer never sleeps and hits every moment of the sleeper's falling asleep.
TEST(ClusterSleep, AWriterThatRacesWithArmIsAlwaysHeard) {
  TestJob job(2);
  constexpr std::uint64_t rounds = 20'000;
  std::atomic<std::uint64_t> heard{0};
  std::thread sleeper([&] {
    TestNode& node = job[1];
    while (node.messages.size() < rounds) {
      if (node.serve()) {
        heard.store(node.messages.size());
      } else {
        node.sleep();
      }
    }
  });
  Random random(23);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    job[0].send(1, bytes_of(i));
    while (heard.load() <= i) std::this_thread::yield();
    for (volatile std::uint64_t spin = random.below(300); spin > 0;) spin = spin - 1;
  }
  sleeper.join();
  EXPECT_EQ(job[1].messages.size(), rounds);
}

}  // namespace
}  // namespace stretto::fabric
