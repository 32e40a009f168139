#include "stretto/schedule/joint.h"

#include <gtest/gtest.h>

#include "stretto/schedule/select.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

constexpr std::uint64_t kib = 1024;

TEST(Joint, OnlyWhereNoneEndsBeforeAllHaveBegun) {
  for (const Operation operation : {Operation::barrier, Operation::allreduce, Operation::allgather,
                                    Operation::reduce_scatter, Operation::all_to_all}) {
    EXPECT_TRUE(pays_jointly({.operation = operation, .size = 4}, 8)) << name_of(operation);
  }
  for (const Operation operation : {Operation::broadcast, Operation::scatter, Operation::scan, Operation::exscan}) {
    EXPECT_FALSE(pays_jointly({.operation = operation, .size = 4}, 8)) << name_of(operation);
  }
  // Who helps has no part in the result, and need not be there.
  EXPECT_FALSE(pays_jointly({.operation = Operation::allreduce, .size = 4, .auxiliaries = 1}, 8));
}

// Where some have no result they must not wait, and can leave so much.
TEST(Joint, OfThoseWhoOnlyGiveOnlyWhatTheyCanLeave) {
  const Shape reduce{.operation = Operation::reduce, .size = 4};
  const Shape gather{.operation = Operation::gather, .size = 4};
  for (const Shape& shape : {reduce, gather}) {
    EXPECT_TRUE(pays_jointly(shape, most_inline_bytes));
    EXPECT_FALSE(pays_jointly(shape, most_inline_bytes + 8));
  }
  // Of a general reduce one may receive who has not given. Of two, one would wait for the other.
  const auto from = [](Rank contributors) {
    return Shape{.operation = Operation::general_reduce, .size = 4, .contributors = contributors, .inner_receivers = 1};
  };
  EXPECT_TRUE(pays_jointly(from(4), 8));
  EXPECT_TRUE(pays_jointly(from(3), 8));
  EXPECT_FALSE(pays_jointly(from(2), 8));
}

TEST(Joint, OnlyWhatIsSmallBesideWhatItSaves) {
  const auto reduces = [](Rank size, std::uint64_t bytes) {
    return pays_jointly({.operation = Operation::allreduce, .size = size}, bytes);
  };
  EXPECT_FALSE(reduces(1, 8));
  EXPECT_TRUE(reduces(2, 8 * kib));
  EXPECT_FALSE(reduces(2, 8 * kib + 8));
  EXPECT_TRUE(reduces(16, 16 * kib));
  EXPECT_FALSE(reduces(16, 16 * kib + 8));
  EXPECT_TRUE(reduces(most_who_meet, 8));
  EXPECT_FALSE(reduces(most_who_meet + 1, 8));
  // A block for each rank: of 16, a vector is 16 blocks.
  const Shape exchange{.operation = Operation::all_to_all, .size = 16};
  EXPECT_TRUE(pays_jointly(exchange, 4 * kib));
  EXPECT_FALSE(pays_jointly(exchange, 4 * kib + 8));
  const Shape pair{.operation = Operation::allgather, .size = 2};
  EXPECT_TRUE(pays_jointly(pair, 32 * kib));
  EXPECT_FALSE(pays_jointly(pair, 32 * kib + 8));
  EXPECT_FALSE(pays_jointly(exchange, ~std::uint64_t{0}));
}

// By hand: rank 0 takes one vector from where it lies and combines it with its own, and rank 1 copies the result; each
// step takes as long as a line more.
TEST(Joint, TakesItsCallsAndItsWork) {
  const Costs costs{.copy_time = 2e-9, .reduction_time = 3e-9, .meeting = 1e-3};
  const Shape shape{.operation = Operation::allreduce, .size = 2};
  const double seconds = joint_seconds(find_algorithm("linear_allreduce"), shape, 1000, costs);
  EXPECT_NEAR(seconds, 2e-3 + 1064 * (2e-9 + 2e-9 + 3e-9), 1e-12);  // with rank 0's copy of its input
  const Shape meeting{.operation = Operation::barrier, .size = 5};
  EXPECT_NEAR(joint_seconds(find_algorithm("linear_barrier"), meeting, 0, {.meeting = 1e-3}), 5e-3, 1e-12);
}

TEST(Joint, IsWhatIsPricedWhereRanksMeet) {
  const Placement apart{.link = Link::local, .ranks_of_machine = 8, .cores_of_machine = 2};
  Placement together = apart;
  together.meets = true;
  for (const Algorithm* const algorithm : algorithms()) {
    const Shape shape = test::shape(*algorithm, 8);
    if (!algorithm->supports(shape)) continue;
    for (const std::uint64_t bytes : {std::uint64_t{8}, 4 * kib, 1024 * kib}) {
      const Price alone = price(*algorithm, shape, bytes, apart, built_in_costs());
      const Price met = price(*algorithm, shape, bytes, together, built_in_costs());
      if (pays_jointly(shape, bytes)) {
        const double seconds = joint_seconds(*algorithm, shape, bytes, built_in_costs().of(Link::local));
        EXPECT_EQ(met.seconds, seconds) << algorithm->name();
        EXPECT_EQ(met.messages, 0U) << algorithm->name();
      } else {
        EXPECT_EQ(met.seconds, alone.seconds) << algorithm->name();
      }
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
