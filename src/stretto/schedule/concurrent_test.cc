#include "stretto/schedule/concurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/schedule/test_support.h"
#include "stretto/schedule/verify.h"

namespace stretto::schedule {
namespace {

using Nodes = std::vector<std::uint32_t>;
using Orders = std::vector<Nodes>;
using Messages = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

PlacedReduce reduce(Nodes nodes, Rank contributors, Rank inner_receivers, std::uint64_t bytes = 8,
                    std::string_view name = "aspen_general_reduce", bool commutative = true) {
  const Algorithm& algorithm = find_algorithm(name);
  Shape shape{.operation = Operation::general_reduce, .size = static_cast<Rank>(nodes.size())};
  shape.commutative = commutative;
  shape.contributors = contributors;
  shape.inner_receivers = inner_receivers;
  return {&algorithm, algorithm.with_segments(shape), std::move(nodes), bytes};
}

/// Who sends to whom in each stage, of all reduces.
std::vector<Messages> stages_of(const std::vector<PlacedReduce>& reduces, const Orders& orders) {
  std::vector<Messages> stages;
  for (std::size_t i = 0; i < reduces.size(); ++i) {
    for (Rank rank = 0; rank < reduces[i].shape.size; ++rank) {
      const Program program = write_program(*reduces[i].algorithm, reduces[i].shape, rank);
      for (std::size_t round = 0; round + 1 < program.round_offsets.size(); ++round) {
        if (stages.size() <= round) stages.resize(round + 1);
        for (std::uint32_t s = program.round_offsets[round]; s < program.round_offsets[round + 1]; ++s) {
          const Step& step = program.steps[s];
          if (step.kind == StepKind::send) stages[round].emplace_back(orders[i][rank], orders[i][step.peer]);
        }
      }
    }
  }
  return stages;
}

std::vector<PlacedReduce> in_order(std::vector<PlacedReduce> reduces, const Orders& orders) {
  for (std::size_t i = 0; i < reduces.size(); ++i) reduces[i].nodes = orders[i];
  return reduces;
}

/// What is wrong with giving the ranks of `reduce` to `order`; empty if nothing is.
std::string fault_of(const PlacedReduce& reduce, const Nodes& order) {
  if (order.size() != reduce.nodes.size()) return "not as many nodes";
  const auto same = [&](Rank first, Rank end) {
    Nodes a(reduce.nodes.begin() + first, reduce.nodes.begin() + end);
    Nodes b(order.begin() + first, order.begin() + end);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  };
  const Shape& shape = reduce.shape;
  if (!same(0, shape.inner_receivers)) return "other receivers among the participants";
  if (!same(shape.inner_receivers, shape.contributors)) return "other participants";
  if (!same(shape.contributors, shape.size)) return "other receivers";
  if (shape.commutative || std::equal(order.begin(), order.begin() + shape.contributors, reduce.nodes.begin())) {
    return {};
  }
  return "the participants' order is another one";
}

/// The paper's Fig. 5: all four to 0 and 2; and two of them, in one order or the other, to 3.
std::vector<PlacedReduce> figure_5(std::uint32_t first, std::uint32_t second) {
  return {reduce({0, 2, 1, 3}, 4, 2), reduce({first, second, 3}, 2, 0)};
}

TEST(Balance, FollowsThePapersExampleStageByStage) {
  const std::vector<PlacedReduce> reduces = figure_5(2, 1);
  const Orders balanced = balance(reduces);
  EXPECT_EQ(balanced, (Orders{{0, 2, 1, 3}, {1, 2, 3}}));

  const Orders given = {reduces[0].nodes, reduces[1].nodes};
  const std::vector<Messages> before = stages_of(reduces, given);
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[0], (Messages{{1, 0}, {3, 2}, {1, 2}})) << "1 sends twice, and 2 receives twice";
  EXPECT_EQ(before[1], (Messages{{0, 2}, {2, 0}, {2, 3}})) << "2 sends twice";

  const std::vector<Messages> after = stages_of(reduces, balanced);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[0], (Messages{{1, 0}, {3, 2}, {2, 1}})) << "1 and 2 send and receive at once";
  EXPECT_EQ(after[1], (Messages{{0, 2}, {2, 0}, {1, 3}}));

  EXPECT_EQ(load_of(reduces), 4U);
  EXPECT_EQ(load_of(in_order(reduces, balanced)), 2U);
}

TEST(Balance, LeavesAloneWhatIsNoBetterOtherwise) {
  EXPECT_EQ(balance(figure_5(1, 2)), (Orders{{0, 2, 1, 3}, {1, 2, 3}}));
  EXPECT_EQ(balance({}), Orders{});
  for (Rank size = 1; size <= 64; ++size) {
    Nodes nodes(size);
    for (Rank i = 0; i < size; ++i) nodes[i] = size - i;
    const std::vector<PlacedReduce> alone = {reduce(nodes, size, (size + 1) / 2)};
    EXPECT_EQ(balance(alone), Orders{nodes}) << size;
  }
}

TEST(Balance, DoesNotDependOnTheListsOrderWhereOneIsHeavier) {
  std::vector<PlacedReduce> reduces = figure_5(2, 1);
  std::swap(reduces[0], reduces[1]);
  EXPECT_EQ(balance(reduces), (Orders{{1, 2, 3}, {0, 2, 1, 3}}));
}

TEST(Balance, MindsTheBytesMoreThanTheMessages) {
  // Node 1 sends 1 MiB in stage 0, and node 2 three small vectors: 1 had better receive.
  std::vector<PlacedReduce> reduces = {reduce({9, 1}, 2, 1, 1U << 20U)};
  for (const std::uint32_t to : {5U, 6U, 7U}) reduces.push_back(reduce({to, 2}, 2, 1));
  reduces.push_back(reduce({2, 1, 3}, 2, 0, 1U << 19U));
  EXPECT_EQ(balance(reduces).back(), (Nodes{1, 2, 3}));
  reduces.front().bytes = 8;
  EXPECT_EQ(balance(reduces).back(), (Nodes{2, 1, 3})) << "now it is 2 that sends most";
}

TEST(Balance, KeepsTheOrderOfTermsThatDoNotCommute) {
  std::vector<PlacedReduce> reduces = figure_5(2, 1);
  reduces[1] = reduce({2, 1, 3}, 2, 0, 8, "scattered_general_reduce", false);
  EXPECT_EQ(balance(reduces)[1], (Nodes{2, 1, 3}));
}

/// A list of reduces on some of `nodes` nodes.
std::vector<PlacedReduce> random_list(Random& random, std::uint32_t nodes) {
  std::vector<PlacedReduce> reduces(2 + random.below(5));
  for (PlacedReduce& each : reduces) {
    Nodes some(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) some[i] = i;
    for (std::uint32_t i = nodes; i > 1; --i) std::swap(some[i - 1], some[random.below(i)]);
    some.resize(1 + random.below(nodes));
    const Rank size = static_cast<Rank>(some.size());
    const Rank contributors = 1 + static_cast<Rank>(random.below(size));
    const Rank least_inner = contributors == size ? 1 : 0;
    const Rank inner = least_inner + static_cast<Rank>(random.below(contributors + 1 - least_inner));
    const std::uint64_t bytes = random.below(3) == 0 ? random.below(4U << 20U) : random.below(100);
    const bool commutative = random.below(4) != 0;
    const bool scattered = !commutative || random.below(4) == 0;
    each = reduce(some, contributors, inner, bytes, scattered ? "scattered_general_reduce" : "aspen_general_reduce",
                  commutative);
  }
  return reduces;
}

TEST(Balance, NeverMakesTheLoadLargerAndChangesNoRolesSeeds) {
  for (const std::uint64_t seed : test::seeds(20)) {
    Random random(seed);
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (std::uint32_t nodes = 1; nodes <= 64; ++nodes) {
      const std::vector<PlacedReduce> reduces = random_list(random, nodes);
      const Orders balanced = balance(reduces);
      ASSERT_EQ(balanced.size(), reduces.size());
      for (std::size_t i = 0; i < reduces.size(); ++i) {
        ASSERT_EQ(fault_of(reduces[i], balanced[i]), "") << nodes << " nodes, seed " << seed;
        if (nodes > 16) continue;
        // Whoever takes which rank, the schedules are those of the shape.
        const auto violation = verify(*reduces[i].algorithm, reduces[i].shape);
        ASSERT_FALSE(violation) << violation->text;
      }
      const std::uint64_t load = load_of(in_order(reduces, balanced));
      ASSERT_LE(load, load_of(reduces)) << nodes << " nodes, seed " << seed;
      before += load_of(reduces);
      after += load;
    }
    EXPECT_LT(after, before) << "seed " << seed;
  }
}

TEST(Balance, FaultsOfAnOrderAreFound) {
  const PlacedReduce given = reduce({4, 5, 6, 7, 8, 9}, 4, 2);
  EXPECT_EQ(fault_of(given, {5, 4, 7, 6, 9, 8}), "");
  EXPECT_EQ(fault_of(given, {6, 5, 4, 7, 8, 9}), "other receivers among the participants");
  EXPECT_EQ(fault_of(given, {4, 5, 8, 7, 6, 9}), "other participants");
  EXPECT_EQ(fault_of(given, {4, 5, 6, 7, 8}), "not as many nodes");
  PlacedReduce ordered = given;
  ordered.shape.commutative = false;
  EXPECT_EQ(fault_of(ordered, {5, 4, 6, 7, 8, 9}), "the participants' order is another one");
}

/// The least load that any legal order of the last reduce gives.
std::uint64_t least_load(std::vector<PlacedReduce> reduces) {
  const PlacedReduce given = reduces.back();
  Nodes& nodes = reduces.back().nodes;
  std::uint64_t least = load_of(reduces);
  std::sort(nodes.begin(), nodes.end());
  do {
    if (fault_of(given, nodes).empty()) least = std::min(least, load_of(reduces));
  } while (std::next_permutation(nodes.begin(), nodes.end()));
  return least;
}

/// How good the heuristic is: two reduces on up to six nodes, of which the first stays as it is.
TEST(Balance, IsMostlyAsGoodAsTheBestOrderSeeds) {
  std::uint64_t best = 0;
  std::uint64_t balanced = 0;
  for (const std::uint64_t seed : test::seeds(20)) {
    Random random(seed);
    for (std::uint32_t nodes = 2; nodes <= 6; ++nodes) {
      std::vector<PlacedReduce> reduces = random_list(random, nodes);
      reduces.resize(2);
      for (PlacedReduce& each : reduces) each.bytes = 8;
      balanced += load_of(in_order(reduces, balance(reduces)));
      best += least_load(reduces);
    }
  }
  EXPECT_LE(static_cast<double>(balanced), 1.05 * static_cast<double>(best));
}

TEST(Fuse, JoinsSmallReducesOfTheSameNodesAndRoles) {
  using Sets = std::vector<std::vector<std::size_t>>;
  const PlacedReduce pair = reduce({0, 1}, 2, 1);
  EXPECT_EQ(fuse({}, 100), Sets{});
  EXPECT_EQ(fuse(std::vector{pair}, 0), (Sets{{0}})) << "alone it may be of any size";
  EXPECT_EQ(fuse(std::vector{pair, pair, pair}, 100), (Sets{{0, 1, 2}}));
  EXPECT_EQ(fuse(std::vector{pair, pair, pair}, 32), (Sets{{0, 1}, {2}})) << "8 bytes take 16";
  EXPECT_EQ(fuse(std::vector{pair, reduce({1, 0}, 2, 1), pair}, 100), (Sets{{0, 2}, {1}}));
  EXPECT_EQ(fuse(std::vector{pair, reduce({0, 1}, 2, 2), reduce({0, 1}, 1, 0), pair}, 100), (Sets{{0, 3}, {1}, {2}}));
  EXPECT_EQ(fuse(std::vector{reduce({0, 1}, 2, 1, 4096), pair, reduce({0, 1}, 2, 1, 90), pair}, 100),
            (Sets{{0}, {1, 3}, {2}}));
  PlacedReduce never = pair;
  never.may_be_fused = false;
  EXPECT_EQ(fuse(std::vector{pair, never, pair, never}, 100), (Sets{{0, 2}, {1}, {3}}));
}

}  // namespace
}  // namespace stretto::schedule
