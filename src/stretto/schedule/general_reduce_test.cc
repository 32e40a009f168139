#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

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

/// Calls `test(p, rp, rnp)` for all with at least one receiver.
template <typename Test>
void for_all_roles(const Test& test) {
  for (Rank p = 1; p <= 16; ++p) {
    for (Rank rp = 0; rp <= p; ++rp) {
      for (Rank rnp = rp == 0 ? 1 : 0; rnp <= 16; ++rnp) test(p, rp, rnp);
    }
  }
}

TEST(GeneralReduce, IsRightForAllParticipantsAndReceivers) {
  for (const std::string_view name : {"aspen_general_reduce", "scattered_general_reduce"}) {
    const Algorithm& algorithm = find_algorithm(name);
    for_all_roles([&](Rank p, Rank rp, Rank rnp) {
      const Shape shape = shape_of(algorithm, p, rp, rnp);
      const auto violation = verify(algorithm, shape);
      ASSERT_FALSE(violation) << test::label(algorithm, shape) << ": " << violation->text;
    });
  }
}

TEST(GeneralReduce, TakesAsManyStagesAsThePaperSaysOrOneMore) {
  const Algorithm& algorithm = find_algorithm("aspen_general_reduce");
  for_all_roles([&](Rank p, Rank rp, Rank rnp) {
    const std::uint32_t rounds = algorithm.rounds(shape_of(algorithm, p, rp, rnp));
    const bool is_power = std::has_single_bit(p);
    std::uint32_t most = 2 + floor_log(p) + (is_power ? 0 : 1);
    if (rnp > p) most = 2 + floor_log(rnp) + (is_power || std::has_single_bit(rnp) ? 0 : 1);
    ASSERT_LE(rounds, most) << p << ' ' << rp << ' ' << rnp;
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
