#include <gtest/gtest.h>

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

// Any two of all sorts of collectives against each other, small and large, one pair after the other: nobody is left
// waiting.
TEST_P(MismatchTest, NoTwoCollectivesWaitForEachOtherForEverSeeds) {
  for (const std::uint64_t seed : test::seeds(120)) {
    const auto nodes = static_cast<std::uint32_t>(2 + seed % 3);
    EXPECT_NO_THROW(run(nodes,
                        [seed](Node& node) -> Task<> {
                          const Group all = Group::all(node);
                          Random random(seed);  // the same on every node
                          for (int i = 0; i < 10; ++i) {
                            const std::size_t usual = random.below(3 * std::size(starts));
                            const std::size_t odd = random.below(3 * std::size(starts));
                            const auto who = static_cast<NodeId>(random.below(all.size()));
                            // Where all of them have called both before, they are kept, or inline.
                            for (const std::size_t before : {usual, odd}) {
                              if (seed % 2 == 0) continue;
                              Buffers buffers(all.size(), counts[before % 3]);
                              co_await starts[before / 3](node, all, buffers);
                            }
                            const std::size_t mine = node.id() == who ? odd : usual;
                            Buffers buffers(all.size(), counts[mine % 3]);
                            const std::string said = co_await outcome(starts[mine / 3](node, all, buffers));
                            // Who only gives, such as a broadcast's root, may be through before it could
                            // know.
                            EXPECT_TRUE(said.empty() || (usual != odd && said.rfind("mismatch: ", 0) == 0))
                                << "seed " << seed << ": " << usual << " but " << odd << " at node " << who << ": "
                                << said;
                          }
                        }))
        << "seed " << seed;
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
