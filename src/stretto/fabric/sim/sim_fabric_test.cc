#include "stretto/fabric/sim/sim_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/base/replace_new.h"
#include "stretto/fabric/conformance.h"

namespace stretto::fabric {
namespace {

using conformance::CountingCompletion;
using conformance::Recorder;

// A simulated machine whose nodes write down what they hear.
struct Machine {
  explicit Machine(const SimOptions& options) : fabric(options) {
    for (Endpoint* const endpoint : fabric.endpoints()) {
      nodes.push_back(std::make_unique<Recorder>(*endpoint));
      Recorder& node = *nodes.back();
      node.check = [this, &node](const Message&) { heard_at.emplace_back(&node, fabric.timeline().now()); };
    }
  }
  void send(NodeId from, NodeId to, std::size_t bytes = 0) {
    Endpoint& endpoint = *fabric.endpoints()[from];
    endpoint.context().enter([&] { endpoint.send(to, MessageType::test, {}, std::vector<std::byte>(bytes)); });
  }
  void run() {
    while (fabric.timeline().step()) {
    }
  }

  SimFabric fabric;
  std::vector<std::unique_ptr<Recorder>> nodes;
  std::vector<std::pair<const Recorder*, VirtualTime>> heard_at;
};

SimOptions options_of(std::uint32_t nodes) {
  SimOptions options;
  options.nodes = nodes;
  options.latency = 1e-6;
  options.overhead = 0.2e-6;
  options.seconds_per_byte = 1e-9;
  options.detection = 20e-6;
  options.segment_bytes = std::size_t{1} << 20U;
  return options;
}

// With the nodes between which it was under way.
TEST(SimFabric, WhatNeverArrivesIsFreed) {
  for (const double early : {0.0, 1.0}) {
    const std::size_t before = arena::blocks_in_use();
    {
      SimOptions options = options_of(3);
      options.early = early;
      Machine machine(options);
      for (int i = 0; i < 10; ++i) machine.send(i % 3 == 0 ? 0 : 1, 2, 100);
    }
    EXPECT_EQ(arena::blocks_in_use(), before);
  }
}

// For whichever request of the way there is no memory.
TEST(SimFabric, WhatCannotBeCarriedIsFreed) {
  for (const double early : {0.0, 1.0}) {
    SimOptions options = options_of(2);
    options.early = early;
    Machine machine(options);
    Endpoint& sender = *machine.fabric.endpoints()[0];
    const std::vector<std::byte> payload(100);
    const std::size_t before = arena::blocks_in_use();
    int shortages = 0;
    bool has_come = true;
    while (has_come) {
      sender.context().enter([&] {
        const test::Shortage shortage(static_cast<std::uint64_t>(shortages) + 1);
        try {
          sender.send(1, MessageType::test, {}, payload);
        } catch (const std::bad_alloc&) {
        }
        has_come = test::Shortage::has_come();
      });
      EXPECT_EQ(arena::blocks_in_use(), before + (has_come ? 0 : 1)) << shortages;
      shortages += has_come ? 1 : 0;
    }
    EXPECT_GT(shortages, 0);
    machine.run();
    EXPECT_EQ(machine.heard_at.size(), 1U);
    EXPECT_EQ(arena::blocks_in_use(), before);
  }
}

TEST(SimFabric, NodesAreHostsOfTheirOwn) {
  Machine machine(options_of(3));
  EXPECT_EQ(machine.fabric.name(), "sim");
  EXPECT_EQ(machine.fabric.size(), 3U);
  EXPECT_NE(machine.fabric.host_of(0), machine.fabric.host_of(1));
  EXPECT_EQ(machine.fabric.endpoints()[0]->peer_pointer(1, 0, 1), nullptr);
}

TEST(SimFabric, AMessageIsHandledAfterLogGpsTime) {
  Machine machine(options_of(2));
  machine.send(0, 1, 1000);
  machine.run();
  ASSERT_EQ(machine.heard_at.size(), 1U);
  EXPECT_EQ(machine.heard_at[0].second, to_virtual(0.2e-6 + 1e-6 + 999e-9 + 0.2e-6));
}

// n - 1 messages to one node: its receiver is what they wait for.
TEST(SimFabric, ManyToOneIsSerialisedAtTheReceiver) {
  Machine machine(options_of(9));
  for (NodeId from = 1; from < 9; ++from) machine.send(from, 0);
  machine.run();
  ASSERT_EQ(machine.heard_at.size(), 8U);
  EXPECT_EQ(machine.heard_at.back().second, to_virtual(0.2e-6 + 1e-6 + 8 * 0.2e-6));
}

TEST(SimFabric, BytesForOneNodeComeOneAfterAnother) {
  Machine machine(options_of(9));
  for (NodeId from = 1; from < 9; ++from) machine.send(from, 0, 10'001);
  machine.run();
  ASSERT_EQ(machine.heard_at.size(), 8U);
  EXPECT_EQ(machine.heard_at.back().second, to_virtual(0.2e-6 + 1e-6 + 8 * 10e-6 + 0.2e-6));
}

TEST(SimFabric, AKillByTimeIsAnnouncedOnceToEachSurvivorAfterTheDetection) {
  SimOptions options = options_of(4);
  options.kills.push_back({.node = 2, .seconds = 10e-6});
  Machine machine(options);
  std::vector<NodeId> listened;
  machine.fabric.on_kill([&](NodeId node) {
    EXPECT_EQ(machine.fabric.timeline().now(), to_virtual(10e-6));
    listened.push_back(node);
  });
  machine.run();
  EXPECT_EQ(listened, (std::vector<NodeId>{2}));
  EXPECT_EQ(machine.fabric.timeline().now(), to_virtual(30e-6));
  for (const NodeId survivor : {0U, 1U, 3U}) {
    ASSERT_EQ(machine.nodes[survivor]->lost.size(), 1U);
    const Error& cause = machine.nodes[survivor]->lost.find(2)->second;
    EXPECT_STREQ(cause.what(), "peer_lost: node 2 was killed");
    EXPECT_TRUE(machine.fabric.alive(survivor));
  }
  EXPECT_TRUE(machine.nodes[2]->lost.empty());
  EXPECT_FALSE(machine.fabric.alive(2));
}

TEST(SimFabric, TheDeadNeitherSendNorReceive) {
  SimOptions options = options_of(3);
  Machine machine(options);
  machine.send(1, 0);  // left before the death: may still arrive
  machine.fabric.kill(1);
  machine.fabric.kill(1);
  machine.send(1, 0);
  machine.send(0, 1);
  machine.send(0, 2);
  machine.run();
  EXPECT_EQ(machine.nodes[0]->messages.size(), 1U);
  EXPECT_EQ(machine.nodes[1]->messages.size(), 0U);
  EXPECT_EQ(machine.nodes[2]->messages.size(), 1U);
  EXPECT_EQ(machine.nodes[0]->lost.count(1), 1U);
}

TEST(SimFabric, AKillByMessageIndexTakesThatMessageAlong) {
  for (std::uint64_t index = 0; index < 6; ++index) {
    SimOptions options = options_of(2);
    options.kills.push_back({.node = 0, .message = index});
    Machine machine(options);
    machine.send(0, 0);  // to itself: not counted
    for (int i = 0; i < 6; ++i) machine.send(0, 1);
    machine.run();
    EXPECT_EQ(machine.nodes[1]->messages.size(), index);
    EXPECT_EQ(machine.nodes[1]->lost.count(0), 1U);
  }
}

TEST(SimFabric, WhatWaitsForTheDeadCompletesAsLost) {
  Machine machine(options_of(2));
  Endpoint& endpoint = *machine.fabric.endpoints()[0];
  std::array<std::byte, 16> bytes{};
  CountingCompletion get;
  endpoint.context().enter([&] { endpoint.get(1, 0, bytes, &get); });
  machine.fabric.kill(1);
  machine.run();
  EXPECT_EQ(get.fired, 1);
  EXPECT_TRUE(get.lost);
}

TEST(SimFabric, TheTraceIsAFunctionOfTheSeed) {
  const auto trace = [](std::uint64_t seed, std::size_t bytes) {
    SimOptions options = options_of(5);
    options.seed = seed;
    options.jitter = 2e-6;
    options.reorder = 0.2;
    options.kills.push_back({.node = 3, .message = 60});
    Machine machine(options);
    for (NodeId node = 0; node < 5; ++node) {
      machine.nodes[node]->check = [&machine, node, left = 20](const Message& message) mutable {
        if (left-- > 0)
          machine.fabric.endpoints()[node]->send((message.from + 1) % 5, message.type, {}, message.payload);
      };
    }
    for (NodeId from = 0; from < 5; ++from) machine.send(from, (from + 2) % 5, bytes);
    machine.run();
    return std::pair(machine.fabric.timeline().trace_hash(), machine.fabric.timeline().steps());
  };
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(trace(seed, 100), trace(seed, 100));
    hashes.push_back(trace(seed, 100).first);
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
  EXPECT_NE(trace(1, 100), trace(1, 101));
}

}  // namespace
}  // namespace stretto::fabric
