#include "stretto/fabric/sim/network_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace stretto::fabric {
namespace {

constexpr VirtualTime nanosecond = 1000;

// L = 1000 ns, o = 200 ns, g = 500 ns, G = 1 ns a byte.
SimOptions machine() {
  SimOptions options;
  options.nodes = 4;
  options.latency = 1000e-9;
  options.overhead = 200e-9;
  options.gap = 500e-9;
  options.seconds_per_byte = 1e-9;
  return options;
}

TEST(NetworkModel, OneMessageTakesOverheadLatencyAndBytes) {
  NetworkModel network(machine());
  EXPECT_EQ(network.reach(0, 1, 65, 10 * nanosecond), (10 + 200 + 1000) * nanosecond);
  EXPECT_EQ(network.land(0, 1, 65, 1210 * nanosecond), (1210 + 64) * nanosecond);
  EXPECT_EQ(network.handle(0, 1, 1274 * nanosecond), (1274 + 200) * nanosecond);
  EXPECT_EQ(network.land(0, 3, 0, 7 * nanosecond), 7 * nanosecond) << "nothing is there at once";
}

// Its processor is free earlier.
TEST(NetworkModel, ASendersWireTakesAGapAndTheBytesOfEachMessage) {
  NetworkModel network(machine());
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(network.reach(0, 1, 9, 0), (200 + k * (500 + 8) + 1000) * nanosecond);
  }
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(network.reach(2, 1, 4097, 0), (200 + k * (500 + 4096) + 1000) * nanosecond);
  }
  EXPECT_EQ(network.handle(1, 2, 2000 * nanosecond), (2000 + 200) * nanosecond);
}

// What reaches it earlier is there earlier.
TEST(NetworkModel, AReceiversWireTakesAsLong) {
  NetworkModel network(machine());
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(network.land(static_cast<NodeId>(k % 3), 3, 4097, 0), (k * (500 + 4096) + 4096) * nanosecond);
  }
  EXPECT_EQ(network.land(1, 2, 4097, 0), 4096 * nanosecond) << "receivers are independent";
  EXPECT_EQ(network.reach(3, 2, 0, 0), 1200 * nanosecond) << "and the ways in and out, too";
}

// However much is sent at once, no time is before an earlier one for want of bits.
TEST(NetworkModel, TimesStayInOrderAtTheEndOfVirtualTime) {
  SimOptions slow = machine();
  slow.overhead = slow.latency = 1000;
  slow.seconds_per_byte = slow.inside_seconds_per_byte = 1e-4;
  constexpr std::size_t much = std::size_t{1} << 30U;
  NetworkModel network(slow);
  slow.hosts = 2;
  NetworkModel inside(slow);
  using Ask = std::function<VirtualTime()>;
  for (const Ask& ask :
       {Ask([&] { return network.reach(0, 1, much, 0); }), Ask([&] { return network.land(2, 3, much, 0); }),
        Ask([&] { return network.handle(1, 2, 0); }), Ask([&] { return inside.reach(0, 1, much, 0); })}) {
    VirtualTime last = 0;
    for (int k = 0; k < 20'000; ++k) {
      const VirtualTime next = ask();
      ASSERT_GE(next, std::exchange(last, next));
    }
    EXPECT_GT(last, end_of_time);
  }
}

TEST(NetworkModel, ANodeSendsAndHandlesOneAfterAnother) {
  NetworkModel network(machine());
  EXPECT_EQ(network.handle(0, 3, 0), 200 * nanosecond);
  EXPECT_EQ(network.reach(3, 0, 0, 0), (200 + 200 + 1000) * nanosecond);
  EXPECT_EQ(network.handle(1, 3, 0), 600 * nanosecond);
}

TEST(NetworkModel, AReceiverHandlesOneAfterAnother) {
  NetworkModel network(machine());
  for (int k = 1; k <= 10; ++k) EXPECT_EQ(network.handle(0, 3, 0), k * 200 * nanosecond);
  EXPECT_EQ(network.handle(0, 3, 10'000 * nanosecond), 10'200 * nanosecond);
  EXPECT_EQ(network.handle(0, 2, 0), 200 * nanosecond) << "receivers are independent";
}

TEST(NetworkModel, AnIdleSenderDoesNotSaveUpItsGap) {
  NetworkModel network(machine());
  network.reach(0, 1, 0, 0);
  EXPECT_EQ(network.reach(0, 1, 0, 5000 * nanosecond), (5000 + 1200) * nanosecond);
}

TEST(NetworkModel, WhatLeavesAtOnceTakesItsSenderNoMore) {
  NetworkModel network(machine());
  const VirtualTime first = network.reach(0, 1, 64, 0);
  EXPECT_EQ(network.reach_along(0, 2, 64, 0), first);
  EXPECT_EQ(network.reach_along(0, 3, 64, 0), first);
  EXPECT_EQ(network.reach(0, 1, 0, 0), (200 + 500 + 63 + 1000) * nanosecond) << "the next one waits for one";
  EXPECT_EQ(network.reach_along(2, 3, 64, 5000 * nanosecond), (5000 + 200 + 1000) * nanosecond)
      << "nothing is on its way before it";
}

TEST(NetworkModel, WhatDoesNotLeaveWithAnotherTakesItsOwnTime) {
  NetworkModel network(machine());
  EXPECT_EQ(network.reach_along(0, 1, 8, 0), NetworkModel(machine()).reach(0, 1, 8, 0));
}

TEST(NetworkModel, NodesOfAHostHaveALinkOfTheirOwnAndShareTheWire) {
  SimOptions options = machine();
  options.hosts = 2;
  options.inside_latency = 100e-9;
  options.inside_overhead = 20e-9;
  options.inside_seconds_per_byte = 0.5e-9;
  NetworkModel network(options);
  // Inside, the sender's processor brings the bytes.
  EXPECT_EQ(network.reach(0, 1, 1001, 0), (20 + 500 + 100) * nanosecond);
  EXPECT_EQ(network.reach(0, 1, 1, 0), (20 + 500 + 20 + 100) * nanosecond);
  EXPECT_EQ(network.land(0, 1, 1001, 620 * nanosecond), 620 * nanosecond);
  EXPECT_EQ(network.handle(0, 1, 620 * nanosecond), 640 * nanosecond);
  EXPECT_EQ(network.handle(2, 1, 1000 * nanosecond), 1200 * nanosecond);
  // Nodes 0 and 1 send to the other host at once: their overheads pass together, their bytes one after the other.
  EXPECT_EQ(network.reach(0, 2, 1001, 10'000 * nanosecond), (10'000 + 200 + 1000) * nanosecond);
  EXPECT_EQ(network.reach(1, 3, 1001, 10'000 * nanosecond), (10'000 + 200 + 500 + 1000 + 1000) * nanosecond);
  EXPECT_EQ(network.reach(2, 0, 1001, 10'000 * nanosecond), (10'000 + 200 + 1000) * nanosecond)
      << "the other host has a wire of its own";
  EXPECT_EQ(network.reach(0, 1, 0, 10'200 * nanosecond), (10'200 + 20 + 100) * nanosecond)
      << "who stays inside does not wait for the wire";
  // So do those that they receive.
  EXPECT_EQ(network.land(0, 2, 1001, 11'200 * nanosecond), (11'200 + 1000) * nanosecond);
  EXPECT_EQ(network.land(1, 3, 1001, 11'200 * nanosecond), (11'200 + 1000 + 500 + 1000) * nanosecond);
}

TEST(NetworkModel, HostsAreFilledInOrderAndEvenly) {
  SimOptions options;
  options.nodes = 7;
  options.hosts = 3;
  std::vector<std::uint32_t> hosts;
  for (NodeId node = 0; node < options.nodes; ++node) hosts.push_back(options.host_of(node));
  EXPECT_EQ(hosts, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2, 2}));
}

TEST(NetworkModel, ANodeReachesItselfAtOnce) {
  NetworkModel network(machine());
  EXPECT_EQ(network.reach(1, 1, 1 << 20U, 77), 77);
  EXPECT_EQ(network.reach(1, 2, 0, 0), 1200 * nanosecond) << "and is not kept busy by it";
}

TEST(NetworkModel, JitterAndDelayStayInTheirBoundsAndFollowTheSeed) {
  SimOptions options = machine();
  options.gap = 0;
  options.overhead = 0;
  options.jitter = 3e-6;
  options.delay_probability = 0.5;
  options.delay = 100e-6;
  NetworkModel a(options);
  NetworkModel b(options);
  options.seed = 2;
  NetworkModel c(options);
  std::set<VirtualTime> times;
  int delayed = 0;
  int same_as_other_seed = 0;
  for (int i = 0; i < 1000; ++i) {
    const VirtualTime time = a.reach(0, 1, 0, 0);
    EXPECT_EQ(time, b.reach(0, 1, 0, 0));
    same_as_other_seed += time == c.reach(0, 1, 0, 0) ? 1 : 0;
    const bool late = time >= to_virtual(101e-6);
    delayed += late ? 1 : 0;
    const VirtualTime jitter = time - to_virtual(late ? 101e-6 : 1e-6);
    EXPECT_GE(jitter, 0);
    EXPECT_LE(jitter, to_virtual(3e-6));
    times.insert(time);
  }
  EXPECT_GT(times.size(), 900U);
  EXPECT_GT(delayed, 400);
  EXPECT_LT(delayed, 600);
  EXPECT_LT(same_as_other_seed, 10);
}

TEST(NetworkModel, ReorderingLetsLaterMessagesOvertake) {
  SimOptions options = machine();
  options.reorder = 0.3;
  NetworkModel network(options);
  int overtaken = 0;
  VirtualTime last = 0;
  for (int i = 0; i < 1000; ++i) {
    const VirtualTime time = network.reach(0, 1, 0, i * 500 * nanosecond);
    EXPECT_LE(time, (i * 500 + 1200 + 4000) * nanosecond);
    overtaken += time < last ? 1 : 0;
    last = std::max(last, time);
  }
  EXPECT_GT(overtaken, 100);
}

}  // namespace
}  // namespace stretto::fabric
