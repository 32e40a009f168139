#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "stretto/base/memory_requests.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"

// Calls that are alike share what was worked out for the first, down to the object that serves them: nothing of one
// may show in another.
namespace stretto {
namespace {

class AlikeCalls : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, AlikeCalls, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

// One type, so that calls with it are alike; what it does is in its state.
struct Weighted {
  std::int64_t weight;
  std::shared_ptr<int> held = nullptr;
  std::int64_t operator()(std::int64_t a, std::int64_t b) const noexcept { return a + b + weight; }
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
};

TEST_P(AlikeCalls, HaveOperatorsOfTheirOwn) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (std::int64_t weight = 0; weight < 10; ++weight) {
      EXPECT_EQ(co_await allreduce(node, all, std::int64_t{1}, Weighted{weight}), 3 + 2 * weight);
    }
    // Lambdas of one function may look alike by name.
    const auto plus = [](int a, int b) { return a + b; };
    const auto times = [](int a, int b) { return a * b; };
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(co_await allreduce(node, all, 2, plus), 6);
      EXPECT_EQ(co_await allreduce(node, all, 2, times), 8);
    }
  });
}

TEST_P(AlikeCalls, LetGoOfWhatTheyWereGiven) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const auto held = std::make_shared<int>(7);
    for (int i = 0; i < 3; ++i) {
      const Future<std::int64_t> total = allreduce(node, all, std::int64_t{1}, Weighted{0, held});
      EXPECT_EQ(co_await total, 2);
      EXPECT_EQ(held.use_count(), 1);
    }
  });
}

TEST_P(AlikeCalls, HavePreconditionsOfTheirOwn) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (int i = 0; i < 5; ++i) {
      const UserEvent gate = node.create_user_event();
      Future<int> late = allreduce(node, all, i, sum, CollectiveOptions().after(gate));
      const Future<int> early = allreduce(node, all, 10 * i, sum);
      EXPECT_EQ(co_await early, 30 * i);
      node.trigger(gate);
      EXPECT_EQ(co_await late, 3 * i);
    }
  });
}

TEST_P(AlikeCalls, HaveShardsOfTheirOwn) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> total(2);
    for (int i = 0; i < 4; ++i) {
      const std::vector<int> plain(2, i);
      co_await allreduce(node, all, plain, total, sum);
      EXPECT_EQ(total, std::vector<int>(2, 3 * i));
      const std::vector<std::vector<int>> shards(2 + node.id(), plain);
      co_await allreduce(node, all, shards, total, sum);
      EXPECT_EQ(total, std::vector<int>(2, 9 * i));
    }
  });
}

// Of one length in all, and some again.
std::vector<std::vector<std::size_t>> lists_by_turns() {
  return {{3, 1, 2}, {3, 1, 2}, {1, 3, 2}, {3, 1, 2}, {0, 0, 6}, {2, 2, 2}, {1, 3, 2}, {2, 2, 2}};
}

TEST_P(AlikeCalls, HaveListsOfTheirOwn) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const NodeId me = node.id();
    int round = 0;
    for (const std::vector<std::size_t>& counts : lists_by_turns()) {
      const std::vector<int> own(counts[me], 10 * round + static_cast<int>(me));
      std::vector<int> expected;
      for (NodeId from = 0; from < 3; ++from) expected.insert(expected.end(), counts[from], 10 * round + int(from));
      std::vector<int> gathered(6, -1);
      co_await allgather(node, all, own, gathered, counts);
      EXPECT_EQ(gathered, expected) << "round " << round;
      std::vector<int> part(counts[me]);
      co_await reduce_scatter(node, all, gathered, part, counts, sum);
      EXPECT_EQ(part, std::vector<int>(counts[me], 3 * (10 * round + static_cast<int>(me))));
      std::vector<int> exchanged(3 * counts[me]);
      co_await all_to_all(node, all, gathered, counts, exchanged, std::vector<std::size_t>(3, counts[me]));
      EXPECT_EQ(exchanged, std::vector<int>(3 * counts[me], 10 * round + static_cast<int>(me)));
      ++round;
    }
  });
}

// Their numbers agree in all, not one by one: as if nothing like them had been before.
TEST_P(AlikeCalls, AreRefusedForListsThatDoNotFit) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<int> own(2, 1);
    std::vector<int> gathered(4);
    const std::vector<std::size_t> equal(2, 2);
    std::vector<std::size_t> unequal(2, 1);
    unequal[1] = 3;
    for (int i = 0; i < 3; ++i) {
      co_await allgather(node, all, own, gathered, equal);
      EXPECT_THROW(allgather(node, all, own, gathered, unequal), Error);
      EXPECT_THROW(all_to_all(node, all, gathered, equal, gathered, unequal), Error);
    }
  });
}

// Sizes that were right once need not be looked at again; where the buffers lie must.
TEST_P(AlikeCalls, AreRefusedForBuffersThatOverlap) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> data(12, 1);
    const std::span<const int> input(data.data(), 4);
    const std::span<int> apart(data.data() + 4, 4);
    const std::span<int> overlapping(data.data() + 2, 4);
    for (int i = 0; i < 3; ++i) {
      co_await allreduce(node, all, input, apart, sum);
      co_await allreduce(node, all, input, std::span<int>(data.data(), 4), sum);  // in place
      EXPECT_EQ(data[0], 2 << i);
      EXPECT_THROW(allreduce(node, all, input, overlapping, sum), Error);
    }
  });
}

// An operation that serves again keeps a slot for the event of the call to come; one that does not gives it back.
TEST_P(AlikeCalls, KeepNoMoreEventsThanTheyNeed) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> data(4, 0);
    std::set<std::uint32_t> slots;
    for (int i = 0; i < 2000; ++i) {
      const std::span<int> some(data.data(), 1 + static_cast<std::size_t>(i) % data.size());
      const Event event = allreduce(node, all, some, some, sum);
      slots.insert(event.slot());
      co_await event;
    }
    EXPECT_LT(slots.size(), 40U);
  });
}

// What has failed serves no more; calls like it go on.
TEST_P(AlikeCalls, OutliveOneThatFails) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (int i = 0; i < 6; ++i) {
      const UserEvent gate = node.create_user_event();
      Future<int> doomed = allreduce(node, all, 1, sum, CollectiveOptions().after(gate));
      node.poison(gate, Error(ErrorCode::invalid_state, "on purpose"));
      bool failed = false;
      try {
        co_await doomed;
      } catch (const Error&) {
        failed = true;
      }
      EXPECT_TRUE(failed);
      EXPECT_EQ(co_await allreduce(node, all, 1, sum), 2);
    }
  });
}

// Large ones: nothing of where the last one's data lay, or how far they had come, is left. Sizes on both sides of what
// is sent at once, of a piece, and of what scratch an operation has itself.
TEST_P(AlikeCalls, OfLargeVectors) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const std::size_t size : {100U, 1'000U, 3'000U, 20'000U, 100'000U}) {
      SegmentArray<int> mapped(node, 2 * size);
      std::vector<int> own(2 * size);
      for (int round = 0; round < 6; ++round) {
        // By turns in memory that peers reach and in the caller's.
        const std::span<int> memory = round % 3 == 0 ? std::span<int>(own) : std::span<int>(mapped);
        const std::span<int> in = memory.first(size);
        const std::span<int> out = memory.last(size);
        for (std::size_t i = 0; i < size; ++i) in[i] = static_cast<int>(i) + round + static_cast<int>(node.id());
        co_await allreduce(node, all, in, out, sum);
        for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], 3 * (static_cast<int>(i) + round) + 3) << size;
        co_await broadcast(node, all, out, 1);
        for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], 3 * (static_cast<int>(i) + round) + 3) << size;
      }
    }
  });
}

// What can be read where it lies at one node is sent by the other one, and the next time the other way round.
TEST_P(AlikeCalls, OfVectorsInEitherMemory) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const std::size_t size : {200U, 400U, 3'000U}) {
      SegmentArray<int> mapped(node, 4 * size);
      std::vector<int> own(4 * size);
      for (int round = 0; round < 40; ++round) {
        const bool is_own = test::contribution(size, node.id(), static_cast<std::uint64_t>(round)) % 2 == 0;
        const std::span<int> memory = is_own ? std::span<int>(own) : std::span<int>(mapped);
        const std::span<int> in = memory.first(size);
        const std::span<int> out = memory.subspan(size, size);
        const std::span<int> both = memory.last(2 * size);
        for (std::size_t i = 0; i < size; ++i) in[i] = static_cast<int>(i) + round + static_cast<int>(node.id());
        co_await allreduce(node, all, in, out, sum);
        co_await allgather(node, all, in, both);
        for (std::size_t i = 0; i < size; ++i) {
          const int first = static_cast<int>(i) + round;
          EXPECT_EQ(out[i], 2 * first + 1) << size;
          EXPECT_EQ(both[i], first) << size;
          EXPECT_EQ(both[size + i], first + 1) << size;
        }
      }
    }
  });
}

// What is little is kept, for the next call.
TEST(AlikeCallsOnSim, KeepNoLargeCopyOfTheirInput) {
  test::run_on("sim:2", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const bool is_large : {false, true}) {
      std::vector<char> data(is_large ? 1 << 20U : 1 << 10U, 'x');
      std::uint64_t asked_for = 0;
      for (int round = 0; round < 3; ++round) {
        const std::uint64_t before = test::memory_requests.bytes;
        const Event done = all_to_all(node, all, data, data);
        asked_for = test::memory_requests.bytes - before;
        co_await done;
      }
      EXPECT_EQ(asked_for >= data.size(), is_large) << asked_for;
    }
  });
}

// More kinds than a stream keeps, and many of one kind at a time.
TEST_P(AlikeCalls, OfManyKindsAndManyAtOnce) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::vector<int>> outputs;
    std::vector<Event> events;
    for (int round = 0; round < 4; ++round) {
      for (std::size_t size = 1; size <= 24; ++size) {
        for (int each = 0; each < 3; ++each) {
          const std::vector<int> input(size, round + each);
          std::vector<int>& output = outputs.emplace_back(input);
          events.push_back(allreduce(node, all, output, output, sum));
        }
      }
    }
    for (const Event event : events) co_await event;
    std::size_t at = 0;
    for (int round = 0; round < 4; ++round) {
      for (std::size_t size = 1; size <= 24; ++size) {
        for (int each = 0; each < 3; ++each) EXPECT_EQ(outputs[at++], std::vector<int>(size, 3 * (round + each)));
      }
    }
  });
}

TEST_P(AlikeCalls, GoByTheAlgorithmsThatTheyName) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const auto named = [](const char* name) { return CollectiveOptions().algorithm(name); };
    for (int round = 0; round < 6; ++round) {
      const int term = round + static_cast<int>(node.id());
      for (const char* const name : {"linear_allreduce", "", "recursive_doubling", "recursive_doubling"}) {
        EXPECT_EQ(co_await allreduce(node, all, term, sum, named(name)), 3 * round + 3);
      }
      EXPECT_THROW(allreduce(node, all, term, sum, named("recursive")), Error);
      EXPECT_THROW(allreduce(node, all, term, sum, named("binomial_reduce")), Error);
    }
    // Members that name different ones after that do not match.
    const Future<int> other = allreduce(node, all, 1, sum, named(node.id() == 1 ? "recursive_doubling" : ""));
    const std::string what = co_await test::outcome(other.event());
    EXPECT_NE(what.find("does not match"), std::string::npos) << what;
  });
}

// Of a set each has its own buffers, and a fused one its own copies; two sets are under way at a time.
TEST_P(AlikeCalls, OfSetsThatArePlannedTogether) {
  run(4, [](Node& node) -> Task<> {
    const ReduceGroups two(Group::all(node), Group{0, 2});
    const ReduceGroups one(Group{1, 2}, Group{3});
    for (int round = 0; round < 12; ++round) {
      std::vector<std::vector<int>> inputs;
      std::vector<std::vector<int>> outputs(6, std::vector<int>(3, -1));
      std::vector<Event> done;
      for (int call = 0; call < 6; ++call) inputs.emplace_back(3, round + 10 * call + static_cast<int>(node.id()));
      for (std::size_t set = 0; set < 6; set += 3) {
        const auto reduce_of = [&](const ReduceGroups& groups, std::size_t call) {
          return reduce_call(groups, 3, inputs[call], outputs[call], sum);
        };
        for (const Event each :
             concurrent(node, {reduce_of(two, set), reduce_of(one, set + 1), reduce_of(two, set + 2)})) {
          done.push_back(each);
        }
      }
      for (const Event each : done) {
        if (each.exists()) co_await each;
      }
      for (int call = 0; call < 6; ++call) {
        const ReduceGroups& groups = call % 3 == 1 ? one : two;
        const int total = call % 3 == 1 ? 2 * (round + 10 * call) + 3 : 4 * (round + 10 * call) + 6;
        const int expected = groups.receives(node.id()) ? total : -1;
        EXPECT_EQ(outputs[static_cast<std::size_t>(call)], std::vector<int>(3, expected)) << "call " << call;
      }
    }
  });
}

// What is in use is kept, however many kinds come after it.
TEST_P(AlikeCalls, WaitWhileManyOtherKindsComeAndGo) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const UserEvent gate = node.create_user_event();
    const Future<int> late = allreduce(node, all, 4, sum, CollectiveOptions().after(gate));
    for (std::size_t size = 2; size <= 40; ++size) {
      std::vector<int> data(size, 3);
      co_await allreduce(node, all, data, data, sum);
      EXPECT_EQ(data, std::vector<int>(size, 6));
    }
    node.trigger(gate);
    EXPECT_EQ(co_await late, 8);
    EXPECT_EQ(co_await allreduce(node, all, 5, sum), 10);
  });
}

}  // namespace
}  // namespace stretto
