#include "stretto/schedule/reduces_together.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/cost_model.h"

namespace stretto::schedule {
namespace {

constexpr Placement wires{.link = Link::wire};

/// All of `contributors` ranks receive; on the nodes from `first` on.
PlacedReduce reduce_of(std::string_view name, Rank contributors, std::uint32_t first, std::uint64_t bytes) {
  const Algorithm& algorithm = find_algorithm(name);
  const Shape shape{.operation = Operation::general_reduce,
                    .size = contributors,
                    .contributors = contributors,
                    .inner_receivers = contributors};
  std::vector<std::uint32_t> nodes(contributors);
  std::iota(nodes.begin(), nodes.end(), first);
  return {&algorithm, algorithm.with_segments(shape), std::move(nodes), bytes};
}

double seconds_of(const std::vector<PlacedReduce>& reduces) {
  return seconds_together(reduces, wires, built_in_costs()).value();
}

TEST(ReducesTogether, OneAloneTakesWhatItTakes) {
  for (const std::string_view name : {"aspen_general_reduce", "scattered_general_reduce", "linear_general_reduce"}) {
    for (const Rank size : {1U, 2U, 5U, 8U}) {
      for (const std::uint64_t bytes : {8U, 5000U, 1'000'000U}) {
        const PlacedReduce reduce = reduce_of(name, size, 0, bytes);
        const double path = price(*reduce.algorithm, reduce.shape, bytes, wires, built_in_costs()).path;
        EXPECT_DOUBLE_EQ(seconds_of({reduce}), path) << name << ", " << size << ", " << bytes;
      }
    }
  }
}

TEST(ReducesTogether, ThoseOfOtherNodesTakeNoTime) {
  const PlacedReduce shorter = reduce_of("aspen_general_reduce", 4, 0, 1000);
  const PlacedReduce longer = reduce_of("scattered_general_reduce", 5, 4, 100'000);
  EXPECT_DOUBLE_EQ(seconds_of({shorter, longer}), seconds_of({longer}));
  EXPECT_DOUBLE_EQ(seconds_of({longer, shorter}), seconds_of({longer}));
}

TEST(ReducesTogether, NodesMayHaveAnyNumbers) {
  const PlacedReduce here = reduce_of("scattered_general_reduce", 6, 0, 10'000);
  const PlacedReduce far = reduce_of("scattered_general_reduce", 6, 1'000'000, 10'000);
  EXPECT_DOUBLE_EQ(seconds_of({far}), seconds_of({here}));
}

TEST(ReducesTogether, ThoseOfTheSameNodesShareTheirWires) {
  const PlacedReduce one = reduce_of("aspen_general_reduce", 4, 0, 1'000'000);
  EXPECT_NEAR(seconds_of({one, one}) / seconds_of({one}), 2, 0.05);
  // Latencies, though, pass at the same time.
  const PlacedReduce small = reduce_of("aspen_general_reduce", 8, 0, 8);
  EXPECT_LT(seconds_of({small, small}), 1.7 * seconds_of({small}));
}

TEST(ReducesTogether, NoneTakeNoTime) { EXPECT_EQ(seconds_together({}, wires, built_in_costs()), 0.0); }

TEST(ReducesTogether, NothingIsSaidOfTooMany) {
  const PlacedReduce large = reduce_of("aspen_general_reduce", 200, 0, 8);
  EXPECT_FALSE(seconds_together(std::vector{large}, wires, built_in_costs()));
  const std::vector<PlacedReduce> many(ReducesTogether::most_reduces + 1, reduce_of("aspen_general_reduce", 2, 0, 8));
  EXPECT_FALSE(seconds_together(many, wires, built_in_costs()));
}

TEST(ReducesTogether, AreOverWires) {
  const std::vector<PlacedReduce> two(2, reduce_of("aspen_general_reduce", 2, 0, 8));
  for (const Link link : {Link::local, Link::host}) {
    EXPECT_THROW(seconds_together(two, {.link = link}, built_in_costs()), Error) << name_of(link);
  }
}

}  // namespace
}  // namespace stretto::schedule
