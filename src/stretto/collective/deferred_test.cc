#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// When collectives run, what stops them, and what misuse meets.
namespace stretto {
namespace {

using test::outcome;

class DeferredTest : public testing::TestWithParam<test::FabricKind> {
 protected:
  void run(std::uint32_t nodes, const Runtime::Main& main) { test::run_job(GetParam().of(nodes), main); }
};

INSTANTIATE_TEST_SUITE_P(Fabrics, DeferredTest, testing::ValuesIn(test::fabric_kinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

std::size_t threads_of_this_process() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

TEST_P(DeferredTest, TenThousandPendingCollectivesAddNoThread) {
  constexpr std::uint32_t nodes = 3;
  constexpr std::size_t operations = 10'000;
  run(nodes, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await barrier(node, all);
    const std::size_t threads = threads_of_this_process();
    const UserEvent go = node.create_user_event();
    std::vector<Future<std::uint64_t>> pending;
    for (std::size_t i = 0; i < operations; ++i) {
      pending.push_back(allreduce(node, all, i + node.id(), sum, CollectiveOptions().after(go)));
    }
    co_await barrier(node, all, CollectiveOptions().key(1));
    EXPECT_EQ(threads_of_this_process(), threads);
    for (const auto& each : pending) {
      if (node.has_triggered(each)) ADD_FAILURE() << "triggered before its precondition";
    }
    co_await barrier(node, all, CollectiveOptions().key(1));
    node.trigger(go);
    for (std::size_t i = 0; i < operations; ++i) {
      const std::uint64_t total = co_await pending[i];
      if (total != nodes * i + 3) ADD_FAILURE() << i << " gave " << total;
    }
    EXPECT_EQ(threads_of_this_process(), threads);
  });
}

TEST_P(DeferredTest, BuffersAreNotTouchedBeforeThePrecondition) {
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const std::size_t count : {3U, 5000U}) {
      const UserEvent filled = node.create_user_event();
      std::vector<std::uint64_t> data(count, 999);
      const Event done = allreduce(node, all, std::span<const std::uint64_t>(data), std::span(data), sum,
                                   CollectiveOptions().after(filled));
      if (node.id() == 2) {
        // The others have all they need but this node's part.
        co_await barrier(node, all, CollectiveOptions().key(5));
      } else {
        std::fill(data.begin(), data.end(), node.id());
        node.trigger(filled);
        co_await barrier(node, all, CollectiveOptions().key(5));
      }
      EXPECT_FALSE(node.has_triggered(done));
      co_await barrier(node, all, CollectiveOptions().key(5));
      if (node.id() == 2) {
        EXPECT_EQ(data, std::vector<std::uint64_t>(count, 999));
        std::fill(data.begin(), data.end(), 100);
        node.trigger(filled);
      }
      co_await done;
      EXPECT_EQ(data, std::vector<std::uint64_t>(count, 104));
    }
  });
}

TEST_P(DeferredTest, ACollectiveMayWaitForAnother) {
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::uint64_t> data(10, 1);
    Event last;
    for (int i = 0; i < 20; ++i) {
      last = allreduce(node, all, std::span<const std::uint64_t>(data), std::span(data), sum,
                       CollectiveOptions().after(last));
    }
    co_await last;
    EXPECT_EQ(data.front(), std::uint64_t{1} << 40U);  // 4 to the 20th
  });
}

TEST_P(DeferredTest, APoisonedPreconditionPoisonsEveryMember) {
  run(5, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const auto start = [&node, &all](int which, std::vector<int>& data, std::vector<int>& out, Event after) {
      const CollectiveOptions options = CollectiveOptions().after(after).key(3);
      switch (which) {
        case 0: return allreduce(node, all, std::span<const int>(data), std::span(data), sum, options);
        case 1: return allgather(node, all, std::span<const int>(data), std::span(out), options);
        case 2: return barrier(node, all, options);
        case 3: return broadcast(node, all, std::span(data), 2, options);
        default: return reduce(node, all, std::span<const int>(data), std::span(data), sum, 4, options);
      }
    };
    for (const std::size_t count : {1U, 3000U}) {
      for (int which = 0; which < 5; ++which) {
        std::vector<int> data(count, 1);
        std::vector<int> out(count * all.size());
        // Node 2 is the broadcast's root, and feeds the reduce's.
        const UserEvent ready = node.create_user_event();
        const Event done = start(which, data, out, ready);
        if (node.id() == 2) {
          node.poison(ready, Error(ErrorCode::io, "the disk of node 2 is full"));
        } else {
          node.trigger(ready);
        }
        const std::string said = co_await outcome(done);
        // Who only gives to a reduction may have done its part before it hears.
        if (which < 4 || node.id() == 4 || node.id() == 2) {
          EXPECT_EQ(said, "io: the disk of node 2 is full") << "operation " << which << " at node " << node.id();
        }
      }
    }
    // The group goes on.
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 5);
  });
}

// Two members that do not agree: both hear of it, and the group's next collective works.
struct Disagreement {
  const char* name;
  Event (*odd)(Node&, const Group&, std::vector<int>&);
};

const Disagreement disagreements[] = {
    {"count",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return allreduce(node, all, std::span<const int>(data).first(2), std::span(data).first(2), sum);
     }},
    {"a_large_count",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return allreduce(node, all, std::span<const int>(data), std::span(data), sum);
     }},
    {"type",
     [](Node& node, const Group& all, std::vector<int>& data) {
       const std::span<unsigned> as_unsigned(reinterpret_cast<unsigned*>(data.data()), 3);
       return allreduce(node, all, std::span<const unsigned>(as_unsigned), as_unsigned, sum);
     }},
    {"operator",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return allreduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), maximum);
     }},
    {"operation", [](Node& node, const Group& all,
                     std::vector<int>& data) { return broadcast(node, all, std::span(data).first(3)); }},
    {"barrier", [](Node& node, const Group& all, std::vector<int>&) { return barrier(node, all); }},
    {"reduce_to_oneself",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return reduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), sum, 1);
     }},
};

class MismatchTest : public testing::TestWithParam<test::FabricKind> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, MismatchTest, testing::ValuesIn(test::fabric_kinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(MismatchTest, EveryMemberHearsWhoDisagrees) {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U}) {
    for (const Disagreement& disagreement : disagreements) {
      test::run_job(GetParam().of(nodes), [&](Node& node) -> Task<> {
        const Group all = Group::all(node);
        std::vector<int> data(5000, 1);
        const Event done =
            node.id() == 1 ? disagreement.odd(node, all, data)
                           : allreduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), sum);
        const std::string said = co_await outcome(done);
        EXPECT_EQ(said.rfind("mismatch: node ", 0), 0U) << disagreement.name << ": " << said;
        EXPECT_NE(said.find("node 1"), std::string::npos) << disagreement.name << ": " << said;
        EXPECT_NE(said.find("deferred_test.cc:"), std::string::npos) << disagreement.name << ": " << said;
        const int total = co_await allreduce(node, all, 1, sum);
        EXPECT_EQ(total, static_cast<int>(all.size()));
      });
    }
  }
}

// All sorts of collectives against each other, small and large: nobody is left waiting.
TEST_P(MismatchTest, NoTwoCollectivesWaitForEachOtherForEver) {
  constexpr int kinds = 12;
  const auto start = [](Node& node, const Group& all, int kind, std::vector<int>& data, std::vector<int>& out) {
    const std::size_t count = kind % 2 == 0 ? 3 : 5000;
    const std::span<const int> in = std::span<const int>(data).first(count);
    const std::span<int> to = std::span(data).first(count);
    switch (kind / 2) {
      case 0: return allreduce(node, all, in, to, sum);
      case 1: return allgather(node, all, in, std::span(out).first(count * all.size()));
      case 2: return broadcast(node, all, to, 0);
      case 3: return broadcast(node, all, to, 1);
      case 4: return reduce(node, all, in, to, sum, 0);
      default: return reduce(node, all, in, to, sum, 1);
    }
  };
  for (const std::uint32_t nodes : {2U, 3U}) {
    for (int usual = 0; usual < kinds; ++usual) {
      for (int odd = 0; odd < kinds; ++odd) {
        if (usual == odd) continue;
        for (NodeId who = 0; who < nodes; ++who) {
          SCOPED_TRACE(std::to_string(usual) + " but " + std::to_string(odd) + " at node " + std::to_string(who) +
                       " of " + std::to_string(nodes));
          EXPECT_NO_THROW(test::run_job(GetParam().of(nodes), [&](Node& node) -> Task<> {
            const Group all = Group::all(node);
            std::vector<int> data(5000, 1);
            std::vector<int> out(5000 * nodes);
            const std::string said = co_await outcome(start(node, all, node.id() == who ? odd : usual, data, out));
            // Who only gives, such as a broadcast's root, may be through before it could know.
            EXPECT_TRUE(said.empty() || said.rfind("mismatch: node ", 0) == 0) << said;
          }));
        }
      }
    }
  }
}

TEST_P(DeferredTest, MisuseIsRefusedByName) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> three(3);
    std::vector<int> four(4);
    const std::span<const int> in = three;
    const auto refusal = [](auto call) -> std::string {
      try {
        call();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.message();
      }
      return "accepted";
    };
    EXPECT_EQ(refusal([&] { allreduce(node, all, in, std::span(four), sum); }),
              "allreduce: output has 4 elements where 3 are needed");
    EXPECT_EQ(refusal([&] { allgather(node, all, in, std::span(four)); }),
              "allgather: output has 4 elements where 9 are needed");
    EXPECT_EQ(refusal([&] { reduce(node, all, in, std::span(four), sum, node.id()); }),
              "reduce: output has 4 elements where 3 are needed");
    EXPECT_EQ(refusal([&] { broadcast(node, all, std::span(three), 3); }), "root 3 is no rank of a group of 3");
    EXPECT_EQ(refusal([&] { reduce(node, all, in, std::span(three), sum, 7); }), "root 7 is no rank of a group of 3");
    EXPECT_EQ(refusal([&] { barrier(node, Group{(node.id() + 1) % 3, (node.id() + 2) % 3}); }),
              "node " + std::to_string(node.id()) + " calls a collective of a group that it is not in");
    EXPECT_EQ(refusal([&] { barrier(node, Group{node.id(), 3}); }),
              "node 3 of the group does not exist; the job has 3 nodes");
    const std::vector<std::span<const int>> shards{three, four};
    EXPECT_EQ(
        refusal([&] { allreduce(node, all, std::span<const std::span<const int>>(shards), std::span(three), sum); }),
        "allreduce: shard has 4 elements where 3 are needed");
    EXPECT_EQ(refusal([&] { allreduce(node, all, std::span<const std::span<const int>>(), std::span(three), sum); }),
              "allreduce: a node contributes at least one shard");
    EXPECT_NE(refusal([&] { barrier(node, all, CollectiveOptions().algorithm("no_such")); }).find("no_such"),
              std::string::npos);
    EXPECT_NE(refusal([&] { barrier(node, all, CollectiveOptions().algorithm("ring_allgather")); }), "accepted");
    // What was refused took no number: the next collectives match.
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 3);
  });
}

TEST_P(DeferredTest, AFullSegmentPoisonsEveryMemberByName) {
  RuntimeOptions options = test::options_for(GetParam().of(3));
  options.segment_bytes = std::size_t{4} << 20U;
  Runtime runtime(options);
  runtime.run([](Node& node) -> Task<> {
    const Group all = Group::all(node);
    fabric::Segment& segment = node.endpoint().segment();
    std::uint64_t most = 0;
    if (node.id() == 1) most = segment.allocate((std::size_t{4} << 20U) - 65536);
    std::vector<std::uint8_t> data(std::size_t{1} << 20U, 1);
    // One that needs scratch, also where memory is shared.
    const CollectiveOptions with_scratch = CollectiveOptions().algorithm("recursive_doubling");
    const std::string said =
        co_await outcome(allreduce(node, all, std::span<const std::uint8_t>(data), std::span(data), sum, with_scratch));
    EXPECT_EQ(said.rfind("out_of_resources: the segment", 0), 0U) << said;
    if (node.id() == 1) segment.release(most);
  });
}

// Every worker is busy until the collective is over: somebody else must see to it.
class BusyWorkers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Local, BusyWorkers, testing::Values("local:2", "local:2,peer_pointer=off", "local:4"));

template <class Op>
void complete_while_workers_are_busy(const char* fabric, std::size_t count, Op op) {
  constexpr unsigned workers = 2;
  Runtime runtime(test::options_for(fabric, workers));
  const auto nodes = runtime.nodes();
  std::vector<Event> done(nodes.size());
  std::vector<UserEvent> go(nodes.size());
  std::vector<std::vector<std::uint64_t>> data(nodes.size());
  std::atomic<unsigned> spinning{0};
  runtime.run([&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    go[node.id()] = node.create_user_event();
    data[node.id()].assign(count, node.id());
    done[node.id()] = allreduce(node, all, std::span<const std::uint64_t>(data[node.id()]), std::span(data[node.id()]),
                                op, CollectiveOptions().after(go[node.id()]));
    co_await barrier(node, all, CollectiveOptions().key(1));
    if (node.id() >= workers) co_return;
    co_await node.spawn([&] {
      // The last worker that becomes busy lets the collective begin.
      if (spinning.fetch_add(1) + 1 == workers) {
        for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i]->trigger(go[i]);
      }
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        while (!nodes[i]->has_triggered(done[i])) {
        }
      }
    });
  });
  const std::uint64_t expected = nodes.size() * (nodes.size() - 1) / 2;
  for (const auto& each : data) EXPECT_EQ(each, std::vector<std::uint64_t>(count, expected));
}

TEST_P(BusyWorkers, DoNotStopASmallCollective) { complete_while_workers_are_busy(GetParam(), 1, sum); }
TEST_P(BusyWorkers, DoNotStopALargeCollective) { complete_while_workers_are_busy(GetParam(), 131'072, sum); }
TEST_P(BusyWorkers, DoNotStopAUsersOperator) {
  const auto add = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  complete_while_workers_are_busy(GetParam(), 1, add);
  complete_while_workers_are_busy(GetParam(), 20'000, add);
}

}  // namespace
}  // namespace stretto
