#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// Members that call different things as the same collective: they hear of it, and nobody waits for ever.
namespace stretto {
namespace {

using test::outcome;

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
     [](Node& node, const Group& all, std::vector<int>& data) { return allreduce(node, all, data, data, sum); }},
    {"type",
     [](Node& node, const Group& all, std::vector<int>& data) {
       const std::span<unsigned> as_unsigned(reinterpret_cast<unsigned*>(data.data()), 3);
       return allreduce(node, all, as_unsigned, as_unsigned, sum);
     }},
    {"operator",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return allreduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), maximum);
     }},
    {"reproducibility",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return allreduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), sum,
                        CollectiveOptions().reproducible());
     }},
    {"operation", [](Node& node, const Group& all,
                     std::vector<int>& data) { return broadcast(node, all, std::span(data).first(3)); }},
    {"barrier", [](Node& node, const Group& all, std::vector<int>&) { return barrier(node, all); }},
    {"reduce_to_oneself",
     [](Node& node, const Group& all, std::vector<int>& data) {
       return reduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), sum, 1);
     }},
};

class MismatchTest : public test::OnEveryFabric {};
INSTANTIATE_TEST_SUITE_P(Fabrics, MismatchTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

Event allreduce_of_3(Node& node, const Group& all, std::vector<int>& data) {
  return allreduce(node, all, std::span<const int>(data).first(3), std::span(data).first(3), sum);
}

// After so many calls in which they agreed: members of one process meet for calls that are alike (decision 49).
TEST_P(MismatchTest, EveryMemberHearsWhoDisagrees) {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U}) {
    for (const Disagreement& disagreement : disagreements) {
      run(nodes, [&](Node& node) -> Task<> {
        const Group all = Group::all(node);
        std::vector<int> data(5000, 1);
        for (std::uint32_t before = 0; before < nodes % 3 * 2; ++before) co_await allreduce_of_3(node, all, data);
        const Event done = node.id() == 1 ? disagreement.odd(node, all, data) : allreduce_of_3(node, all, data);
        const std::string said = co_await outcome(done);
        EXPECT_EQ(said.rfind("mismatch: node ", 0), 0U) << disagreement.name << ": " << said;
        EXPECT_NE(said.find("node 1"), std::string::npos) << disagreement.name << ": " << said;
        EXPECT_NE(said.find("mismatch_test.cc:"), std::string::npos) << disagreement.name << ": " << said;
        const int total = co_await allreduce(node, all, 1, sum);
        EXPECT_EQ(total, static_cast<int>(all.size()));
      });
    }
  }
}

// Who blocks a thread of its own brings its node to rest as well: no worker may ever come to that.
TEST(Mismatch, ThreadsThatOnlyReceiveHearWhoDisagrees) {
  Runtime runtime(test::options_for("local:2", 2));
  runtime.run([](Node& node) {
    std::string said;
    std::thread([&] {
      int value = 0;
      const Event done = broadcast(node, Group::all(node), std::span(&value, 1), 1 - node.id());
      try {
        node.wait(done);
      } catch (const Error& error) {
        said = error.what();
      }
    }).join();
    EXPECT_EQ(said.rfind("mismatch: node ", 0), 0U) << said;
  });
}

/// What is said in the log while `main` runs.
std::string logged_while(const RuntimeOptions& options, const Runtime::Main& main) {
  testing::internal::CaptureStderr();
  Runtime(options).run(main);
  return testing::internal::GetCapturedStderr();
}

// Each is the root of a broadcast of its own, and through before it could hear of the other's.
TEST_P(MismatchTest, TheLogTellsOfDisagreementsAmongThoseWhoAreThrough) {
  const std::string log = logged_while(test::options_for(GetParam().of(2)), [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    int value = 1;
    const std::string said = co_await outcome(broadcast(node, all, std::span(&value, 1), node.id()));
    EXPECT_EQ(said, "");
    EXPECT_EQ(value, 1);
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 2);
  });
  const std::size_t at = log.find("mismatch: node ");
  EXPECT_NE(at, std::string::npos) << log;
  EXPECT_NE(log.find("'s collective at ", at), std::string::npos) << log;
  EXPECT_NE(log.find("mismatch_test.cc:", at), std::string::npos) << log;
  EXPECT_NE(log.find("does not match what node ", at), std::string::npos) << log;
}

// Node 2 has left its input, and begins by itself when node 3 calls something else. Returns whether it was so.
bool disagree_with_who_has_left() {
  std::atomic<bool> has_left = false;
  std::atomic<bool> is_told = false;
  const std::string log = logged_while(test::options_for("local:4", 1), [&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const bool is_odd = node.id() == 3;
    std::vector<int> data(2, 1);
    std::vector<int> result(2);
    const auto start = [&](std::size_t count) {
      return reduce(node, all, std::span<const int>(data).first(count), std::span(result).first(count), sum, 0,
                    CollectiveOptions().algorithm("binomial_reduce"));
    };
    for (int before = 0; before < 5; ++before) {
      co_await start(2);
      co_await barrier(node, all);
    }
    // The odd one calls when the others that give have, and these go on when all have.
    const Group givers({1, 2, 3});
    if (is_odd) co_await barrier(node, givers);
    const Event done = start(is_odd ? 1 : 2);
    if (node.id() == 2) has_left = !done.exists();
    if (node.id() != 0 && !is_odd) co_await barrier(node, givers);
    const std::string said = co_await outcome(done);
    if (node.id() == 2) is_told = !said.empty();
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 4);
  });
  const std::size_t at = log.find("[node 2] mismatch: node 2's reduce of 8 bytes, root 0, at ");
  EXPECT_NE(at != std::string::npos, is_told) << log;
  if (at != std::string::npos) {
    EXPECT_NE(log.find(" what node 3 calls", at), std::string::npos) << log;
  }
  return has_left;
}

// Another thread may have its node's baton for a moment: then it does not leave.
TEST(Mismatch, TheLogTellsOfDisagreementsWithThoseWhoHaveLeft) {
  int attempts = 100;
  while (!disagree_with_who_has_left()) ASSERT_GT(--attempts, 0);
}

RuntimeOptions options_that_check(const std::string& fabric) {
  RuntimeOptions options = test::options_for(fabric);
  options.check_calls = true;
  return options;
}

// Which are alike but for their places in the source.
TEST_P(MismatchTest, CallsInAnotherOrderAreFoundWhereCallsAreChecked) {
  for (const bool swaps : {false, true}) {
    Runtime(options_that_check(GetParam().of(3))).run([swaps](Node& node) -> Task<> {
      const Group all = Group::all(node);
      for (int before = 0; before < 3; ++before) co_await barrier(node, all);
      std::vector<int> data(5, 1);
      const auto first = [&] { return allreduce_of_3(node, all, data); };
      const auto second = [&] { return allreduce(node, all, std::span(data).first(3), std::span(data).first(3), sum); };
      const bool is_odd = swaps && node.id() == 2;
      const Event one = is_odd ? second() : first();
      const std::string said = co_await outcome(one);
      const Event other = is_odd ? first() : second();
      const std::string said_then = co_await outcome(other);
      for (const std::string& each : {said, said_then}) {
        EXPECT_EQ(each.rfind("mismatch: node ", 0), swaps ? 0U : std::string::npos) << each;
        EXPECT_TRUE(!swaps || each.find("STRETTO_CHECK_CALLS") != std::string::npos) << each;
      }
    });
  }
}

// One list of reduces, at two places in the source, under keys of their own: in which order does not matter.
TEST_P(MismatchTest, ListsOfReducesAreToldApartByTheirPlacesWhereCallsAreChecked) {
  for (const bool differ : {false, true}) {
    Runtime(options_that_check(GetParam().of(2))).run([differ](Node& node) -> Task<> {
      const ReduceGroups both(Group::all(node), Group::all(node));
      const std::vector<int> input(2, 1);
      std::vector<std::vector<int>> outputs(4, std::vector<int>(2));
      const auto list = [&](std::size_t first) {
        return std::vector{reduce_call(both, 2, input, outputs[first], sum),
                           reduce_call(both, 2, input, outputs[first + 1], sum)};
      };
      std::vector<std::string> said;
      const auto here = [&](std::uint64_t key) { return concurrent(node, list(0), CollectiveOptions().key(key)); };
      const auto there = [&](std::uint64_t key) { return concurrent(node, list(2), CollectiveOptions().key(key)); };
      std::vector<Event> events = node.id() == 0 ? here(1) : there(differ ? 1 : 2);
      const std::vector<Event> others = node.id() == 0 ? there(2) : here(differ ? 2 : 1);
      events.insert(events.end(), others.begin(), others.end());
      for (const Event event : events) said.push_back(co_await outcome(event));
      for (const std::string& each : said) {
        EXPECT_EQ(each.rfind("mismatch: node ", 0), differ ? 0U : std::string::npos) << each;
      }
    });
  }
}

int first_of(const int& a, const int&) { return a; }
int second_of(const int&, const int& b) { return b; }

TEST_P(MismatchTest, FunctionsAreToldApartWhereCallsAreChecked) {
  for (const bool differ : {false, true}) {
    Runtime(options_that_check(GetParam().of(2))).run([differ](Node& node) -> Task<> {
      const auto operation = differ && node.id() == 1 ? second_of : first_of;
      const int value = 1;
      int result = 0;
      const Event done = allreduce(node, Group::all(node), std::span(&value, 1), std::span(&result, 1), operation);
      const std::string said = co_await outcome(done);
      EXPECT_EQ(said.rfind("mismatch: node ", 0), differ ? 0U : std::string::npos) << said;
    });
  }
}

// What a member passes to some operation.
struct Buffers {
  explicit Buffers(std::size_t blocks, std::size_t size)
      : count(size), block(size, 1), all(size * blocks, 1), to(all) {}

  std::size_t count;
  std::vector<int> block;
  std::vector<int> all;
  std::vector<int> to;
};

using StartOne = Event (*)(Node&, const Group&, Buffers&);

std::span<const int> constant(const std::vector<int>& vector) { return vector; }

template <Rank root>
Event gather_at(Node& node, const Group& all, Buffers& its) {
  return gather(node, all, constant(its.block), its.all, root);
}
template <Rank root>
Event scatter_from(Node& node, const Group& all, Buffers& its) {
  return scatter(node, all, constant(its.all), its.block, root);
}
template <Rank root>
Event broadcast_from(Node& node, const Group& all, Buffers& its) {
  return broadcast(node, all, its.block, root);
}
template <Rank root>
Event reduce_to(Node& node, const Group& all, Buffers& its) {
  return reduce(node, all, constant(its.block), its.block, sum, root);
}
// From the first `givers` members to the others.
template <Rank givers>
Event reduce_to_others(Node& node, const Group& all, Buffers& its) {
  const auto nodes = all.nodes();
  const ReduceGroups groups(test::first_ranks(all, givers), Group(std::vector(nodes.begin() + givers, nodes.end())));
  return reduce(node, groups, constant(its.block), its.block, sum);
}
Event all_to_some(Node& node, const Group& all, Buffers& its) {
  return reduce(node, ReduceGroups(all, Group{0, 1}), constant(its.block), its.block, sum);
}

const StartOne starts[] = {
    [](Node& node, const Group& all, Buffers&) { return barrier(node, all); },
    [](Node& node, const Group& all, Buffers& its) {
      return allreduce(node, all, constant(its.block), its.block, sum);
    },
    [](Node& node, const Group& all, Buffers& its) { return allgather(node, all, constant(its.block), its.all); },
    [](Node& node, const Group& all, Buffers& its) {
      return reduce_scatter(node, all, constant(its.all), its.block, sum);
    },
    [](Node& node, const Group& all, Buffers& its) { return all_to_all(node, all, constant(its.all), its.to); },
    [](Node& node, const Group& all, Buffers& its) { return scan(node, all, constant(its.block), its.block, sum); },
    [](Node& node, const Group& all, Buffers& its) { return exscan(node, all, constant(its.block), its.block, sum); },
    broadcast_from<0>,
    broadcast_from<1>,
    reduce_to<0>,
    reduce_to<1>,
    gather_at<0>,
    gather_at<1>,
    scatter_from<0>,
    scatter_from<1>,
    reduce_to_others<1>,
    all_to_some,
};

// So many are sent, lent where they can be, or large.
constexpr std::size_t counts[] = {3, 500, 5000};

/// One pair of collectives, of all that there are, of which one node calls the odd one.
struct Pair {
  Pair(Random& random, Rank nodes)
      : usual(random.below(3 * std::size(starts))),
        odd(random.below(3 * std::size(starts))),
        who(static_cast<NodeId>(random.below(nodes))) {}

  /// Barriers have no count.
  bool is_one() const { return usual == odd || (usual / 3 == 0 && odd / 3 == 0); }

  std::size_t usual;
  std::size_t odd;
  NodeId who;
};

Event start(std::size_t which, Node& node, const Group& all, Buffers& buffers) {
  return starts[which / 3](node, all, buffers);
}

/// Calls it; returns what this node hears of it.
Task<std::string> disagree(Node& node, const Pair& pair, bool is_known) {
  const Group all = Group::all(node);
  // Where all of them have called both before, they are kept, or inline.
  for (const std::size_t before : {pair.usual, pair.odd}) {
    if (!is_known) continue;
    Buffers buffers(all.size(), counts[before % 3]);
    co_await start(before, node, all, buffers);
  }
  const std::size_t mine = node.id() == pair.who ? pair.odd : pair.usual;
  Buffers buffers(all.size(), counts[mine % 3]);
  co_return co_await outcome(start(mine, node, all, buffers));
}

// Any two of all sorts of collectives against each other, small and large: nobody is left waiting, and somebody, or the
// log, hears that they disagree.
TEST_P(MismatchTest, NoTwoCollectivesWaitForEachOtherForEverSeeds) {
  for (const std::uint64_t seed : test::seeds(120)) {
    Random random(seed);
    const auto nodes = static_cast<std::uint32_t>(2 + seed % 3);
    for (int i = 0; i < 10; ++i) {
      const Pair pair(random, nodes);
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(pair.usual) + " but " +
                   std::to_string(pair.odd) + " at node " + std::to_string(pair.who));
      std::atomic<bool> somebody_heard = false;
      const std::string log = logged_while(test::options_for(GetParam().of(nodes)), [&](Node& node) -> Task<> {
        const std::string said = co_await disagree(node, pair, seed % 2 != 0);
        EXPECT_TRUE(said.empty() || said.rfind("mismatch: ", 0) == 0) << said;
        if (!said.empty()) somebody_heard = true;
        co_await allreduce(node, Group::all(node), 1, sum);
        node.charge(1e-3);  // what nobody waits for may still be on its way
        co_await allreduce(node, Group::all(node), 1, sum);
      });
      EXPECT_NE(somebody_heard || log.find("mismatch: ") != std::string::npos, pair.is_one()) << log;
    }
  }
}

// What node 1 gives to node 2 is not what that expects.
struct UnevenSizes {
  std::size_t given;
  std::size_t expected;
};
const UnevenSizes uneven_sizes[] = {{5, 4}, {0, 4}, {4, 0}, {3000, 3001}, {3000, 10}, {10, 3000}, {0, 3000}, {3000, 0}};

// Of node 2 with node 1, or with both others.
enum class Disagrees : std::uint8_t { once, twice };

Task<> disagree_on_counts(Node& node, UnevenSizes sizes, Disagrees how) {
  const Group all = Group::all(node);
  std::vector<std::size_t> gives(3, 7);
  std::vector<std::size_t> gets(3, 7);
  if (node.id() == 0 && how == Disagrees::twice) gives[2] = 6;
  if (node.id() == 1) gives[2] = sizes.given;
  if (node.id() == 2) gets[1] = sizes.expected;
  const std::vector<int> input(14 + gives[2]);
  std::vector<int> output(14 + gets[1]);
  const std::span<const std::size_t> give(gives);
  const std::span<const std::size_t> get(gets);
  const std::string said = co_await outcome(all_to_all(node, all, constant(input), give, output, get));
  EXPECT_TRUE(said.empty() ? node.id() != 2 : said.rfind("mismatch: node ", 0) == 0) << node.id() << ": " << said;
  for (const std::size_t bytes : {4 * sizes.given, 4 * sizes.expected}) {
    const bool names_them = said.find(' ' + std::to_string(bytes) + ' ') != std::string::npos;
    EXPECT_TRUE(said.empty() || names_them || how == Disagrees::twice) << said;
  }
  const int total = co_await allreduce(node, all, 1, sum);
  EXPECT_EQ(total, 3);
}

TEST_P(MismatchTest, AnAllToAllWhoseCountsDisagreeNamesBoth) {
  for (const UnevenSizes& sizes : uneven_sizes) {
    run(3, [&sizes](Node& node) { return disagree_on_counts(node, sizes, Disagrees::once); });
  }
}

// Of which no more goes to `peer` unasked.
void fill_window(Node& node, NodeId peer) {
  EagerWindow::Account& window = CollectiveService::of(node).eager_window().with(peer);
  node.endpoint().context().enter([&] {
    while (window.take(0)) {
    }
  });
}

// What is little to its sender, which holds it, and large to its receiver.
TEST_P(MismatchTest, AnAllToAllWhoseCountsDisagreeNamesBothWhereDataAreHeld) {
  run(3, [](Node& node) {
    if (node.id() == 1) fill_window(node, 2);
    return disagree_on_counts(node, {10, 3000}, Disagrees::once);
  });
}

// Who sends little is through before it is asked for much, or what it has sent comes when its receiver has failed.
TEST(DisorderedMismatch, AnAllToAllWhoseCountsDisagreeEndsInAnyOrderOfMessagesSeeds) {
  for (const std::uint64_t seed : test::seeds(100)) {
    const std::string fabric = "sim:3,jitter=5us,reorder=0.4,seed=" + std::to_string(seed);
    for (const UnevenSizes& sizes : uneven_sizes) {
      for (const Disagrees how : {Disagrees::once, Disagrees::twice}) {
        SCOPED_TRACE(fabric + ", given " + std::to_string(sizes.given));
        test::run_on(fabric, [&](Node& node) { return disagree_on_counts(node, sizes, how); });
      }
    }
  }
}

}  // namespace
}  // namespace stretto
