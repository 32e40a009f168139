#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/schedule/test_support.h"
#include "stretto/schedule/verify.h"

namespace stretto::schedule {
namespace {

/// P participants, of which Rp receive, and Rnp other receivers.
Shape shape_of(const Algorithm& algorithm, Rank p, Rank rp, Rank rnp) {
  return algorithm.with_segments(
      {.operation = Operation::general_reduce, .size = p + rnp, .contributors = p, .inner_receivers = rp});
}

std::uint32_t floor_log(Rank n) { return static_cast<std::uint32_t>(std::bit_width(n)) - 1; }
std::uint32_t ceil_log(Rank n) { return floor_log(n) + (std::has_single_bit(n) ? 0 : 1); }

/// Calls `test(p, rp, rnp)` for all with at least one receiver, up to `most` participants and as many others.
template <typename Test>
void for_all_roles(Rank most, const Test& test) {
  for (Rank p = 1; p <= most; ++p) {
    for (Rank rp = 0; rp <= p; ++rp) {
      for (Rank rnp = rp == 0 ? 1 : 0; rnp <= most; ++rnp) test(p, rp, rnp);
    }
  }
}

/// With every operator, by every algorithm that may have it.
void expect_right(Rank p, Rank rp, Rank rnp) {
  for (const Algorithm* const algorithm : algorithms()) {
    if (algorithm->operation() != Operation::general_reduce) continue;
    for (const Shape& shape : with_operators(shape_of(*algorithm, p, rp, rnp))) {
      if (!algorithm->supports(shape)) continue;
      const auto violation = verify(*algorithm, shape);
      ASSERT_FALSE(violation) << test::label(*algorithm, shape) << ": " << violation->text;
    }
  }
}

TEST(GeneralReduce, IsRightForAllParticipantsAndReceiversTo16) {
  for_all_roles(test::exhaustive_to(16),
                [](Rank p, Rank rp, Rank rnp) { ASSERT_NO_FATAL_FAILURE(expect_right(p, rp, rnp)); });
}

TEST(GeneralReduce, IsRightForSomeParticipantsAndReceiversTo64Seeds) {
  for (const std::uint64_t seed : test::seeds(200)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const auto p = static_cast<Rank>(1 + random.below(64));
    const auto rnp = static_cast<Rank>(p > 16 ? random.below(65) : 17 + random.below(48));
    const Rank least = rnp == 0 ? 1 : 0;
    const auto rp = static_cast<Rank>(least + random.below(p + 1 - least));
    ASSERT_NO_FATAL_FAILURE(expect_right(p, rp, rnp));
  }
}

TEST(GeneralReduce, TakesAsManyStagesAsThePaperSaysOrOneMore) {
  const Algorithm& algorithm = find_algorithm("aspen_general_reduce");
  for_all_roles(64, [&](Rank p, Rank rp, Rank rnp) {
    const std::uint32_t rounds = algorithm.rounds(shape_of(algorithm, p, rp, rnp));
    if (std::has_single_bit(p)) {
      ASSERT_LE(rounds, 2 + floor_log(std::max(p, rnp))) << p << ' ' << rp << ' ' << rnp;
    } else {
      ASSERT_LE(rounds, rnp > p ? 2 + ceil_log(rnp) : 3 + floor_log(p)) << p << ' ' << rp << ' ' << rnp;
    }
  });
  EXPECT_EQ(algorithm.rounds(shape_of(algorithm, 3, 0, 3)), 4U) << "where the paper says 3";
}

TEST(GeneralReduce, IsATreeForOneReceiverAndTheButterflyForAll) {
  const Algorithm& general = find_algorithm("aspen_general_reduce");
  const Algorithm& butterfly = find_algorithm("recursive_doubling");
  for (Rank size = 1; size <= 64; ++size) {
    const std::vector<Schedule> tree = test::schedules(general, shape_of(general, size, 1, 0));
    std::size_t messages = 0;
    for (const Schedule& schedule : tree) {
      for (const Step& step : schedule.steps) messages += step.kind == StepKind::send ? 1 : 0;
    }
    EXPECT_EQ(messages, size - 1);
    EXPECT_EQ(general.rounds(shape_of(general, size, size, 0)), butterfly.rounds(test::shape(butterfly, size)));
  }
}

/// The paper's Fig. 4: participants 1 to 8, receivers 1, 2, 9, 10 and 11, in the paper's numbers.
TEST(GeneralReduce, FollowsThePapersExampleStepByStep) {
  const Algorithm& algorithm = find_algorithm("aspen_general_reduce");
  const Shape shape = shape_of(algorithm, 8, 2, 3);
  using Messages = std::vector<std::pair<Rank, Rank>>;
  std::vector<Messages> rounds(algorithm.rounds(shape));
  for (Rank me = 0; me < shape.size; ++me) {
    const Program program = write_program(algorithm, shape, me);
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      for (std::uint32_t i = program.round_offsets[round]; i < program.round_offsets[round + 1]; ++i) {
        const Step& step = program.steps[i];
        if (step.kind == StepKind::send) rounds[round].emplace_back(me + 1, step.peer + 1);
      }
    }
  }
  ASSERT_EQ(rounds.size(), 4U);
  EXPECT_EQ(rounds[0], (Messages{{5, 1}, {6, 2}, {7, 3}, {8, 4}}));
  EXPECT_EQ(rounds[1], (Messages{{1, 2}, {2, 1}, {3, 4}, {4, 3}}));
  EXPECT_EQ(rounds[2], (Messages{{1, 3}, {3, 1}, {4, 2}})) << "without 2 to 4";
  EXPECT_EQ(rounds[3], (Messages{{1, 9}, {2, 10}, {3, 11}}));
}

TEST(GeneralReduce, RefusesRolesThatDoNotFit) {
  const auto defect = [](Rank size, Rank contributors, Rank inner) {
    return defect_of(
        {.operation = Operation::general_reduce, .size = size, .contributors = contributors, .inner_receivers = inner});
  };
  EXPECT_EQ(defect(4, 4, 4), "");
  EXPECT_EQ(defect(4, 0, 0), "contributors must be from 1 to the size, 4, not 0");
  EXPECT_EQ(defect(4, 5, 0), "contributors must be from 1 to the size, 4, not 5");
  EXPECT_EQ(defect(4, 2, 3), "inner_receivers are some of the 2 contributors, not 3");
  EXPECT_EQ(defect(4, 4, 0), "nobody receives");
  EXPECT_NE(defect_of({.operation = Operation::allreduce, .size = 4, .contributors = 4}), "");
}

}  // namespace
}  // namespace stretto::schedule
