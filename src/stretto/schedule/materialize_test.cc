#include "stretto/schedule/materialize.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"
#include "stretto/schedule/builder.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

/// A schedule as text: one line a step, with what it waits for.
std::string text_of(const Schedule& schedule) {
  std::string text;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    text += std::to_string(i) + ": " + describe(schedule.steps[i]);
    for (const std::uint32_t earlier : schedule.dependencies_of(i)) text += " <" + std::to_string(earlier);
    for (const std::uint32_t later : schedule.successors_of(i)) text += " >" + std::to_string(later);
    text += '\n';
  }
  return text;
}

TEST(Materialize, ButterflyWaitsForNoMoreThanItMust) {
  const Schedule schedule =
      materialize(find_algorithm("recursive_doubling"), {.operation = Operation::allreduce, .size = 8}, 5);
  EXPECT_EQ(text_of(schedule),
            "0: copy input[0] to output[0] >3\n"
            "1: send input[0] to 4 as #0 >3\n"
            "2: receive scratch[0] from 4 as #0 >3\n"
            "3: reduce output[0] = scratch[0] (+) output[0] <0 <1 <2 >4 >8\n"
            "4: send output[0] to 7 as #0 <3 >6\n"
            "5: receive scratch[1] from 7 as #0 >6\n"
            "6: reduce output[0] = output[0] (+) scratch[1] <4 <5 >7\n"
            "7: send output[0] to 1 as #0 <6 >9\n"
            "8: receive scratch[0] from 1 as #0 <3 >9\n"
            "9: reduce output[0] = scratch[0] (+) output[0] <7 <8\n");
  EXPECT_EQ(schedule.scratch_blocks, 2U);
  EXPECT_EQ(schedule.rounds(), 3U);
  EXPECT_EQ(schedule.round_offsets, (std::vector<std::uint32_t>{0, 4, 7, 10}));
}

TEST(Materialize, BarrierSendsWaitForWhatWasHeard) {
  const Schedule schedule =
      materialize(find_algorithm("dissemination_barrier"), {.operation = Operation::barrier, .size = 3}, 0);
  EXPECT_EQ(text_of(schedule),
            "0: send nothing to 1 as #0 >2\n"
            "1: receive nothing from 2 as #0 >2\n"
            "2: send nothing to 2 as #0 <0 <1\n"
            "3: receive nothing from 1 as #0\n");
}

TEST(Materialize, NumbersMessagesOnEachDirectedEdge) {
  const Schedule schedule =
      materialize(find_algorithm("ring_allgather"), {.operation = Operation::allgather, .size = 4}, 1);
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
  for (const Step& step : schedule.steps) {
    if (step.is_message()) {
      EXPECT_EQ(step.tag, step.kind == StepKind::send ? sends++ : receives++);
    }
  }
  EXPECT_EQ(sends, 3U);
  EXPECT_EQ(receives, 3U);
}

TEST(Materialize, OutputWaitsForReadersOfTheInputThatMayLieThere) {
  // The left-out rank sends its input, and the result lands where that input may lie.
  const Schedule schedule =
      materialize(find_algorithm("recursive_doubling"), {.operation = Operation::allreduce, .size = 3}, 2);
  EXPECT_EQ(text_of(schedule),
            "0: send input[0] to 0 as #0 >1\n"
            "1: receive output[0] from 0 as #0 <0\n");
  // A copy of input to its own place changes nothing in place, so it waits for nobody.
  const Schedule root =
      materialize(find_algorithm("binomial_broadcast"), {.operation = Operation::broadcast, .size = 2}, 0);
  EXPECT_EQ(text_of(root), "0: send input[0] to 1 as #0\n1: copy input[0] to output[0]\n");
  EXPECT_TRUE(is_identity_in_place(root.shape, 0, root.steps[1]));
  EXPECT_FALSE(is_identity_in_place(root.shape, 0, root.steps[0]));
}

TEST(Materialize, IdentityInPlaceKnowsWhereAContributionLies) {
  const Shape shape{.operation = Operation::allgather, .size = 5};
  const Schedule schedule = materialize(find_algorithm("ring_allgather"), shape, 3);
  Step copy = schedule.steps[2];
  ASSERT_EQ(copy.kind, StepKind::copy);
  EXPECT_TRUE(is_identity_in_place(shape, 3, copy));
  copy.destination_first = 0;
  EXPECT_FALSE(is_identity_in_place(shape, 3, copy));
}

TEST(Materialize, RingOfManyRanksStaysLinear) {
  const Rank size = 20000;
  const Schedule schedule =
      materialize(find_algorithm("ring_allgather"), {.operation = Operation::allgather, .size = size}, 7);
  EXPECT_EQ(schedule.steps.size(), 2U * (size - 1) + 1);
  EXPECT_LT(schedule.dependencies.size(), schedule.steps.size());
}

TEST(Materialize, ARankAloneHasOnlyItsCopy) {
  for (const Algorithm* algorithm : algorithms()) {
    const Shape shape = test::shape(*algorithm, 1);
    EXPECT_EQ(materialize(*algorithm, shape, 0).steps.size(), output_blocks(shape, 0)) << algorithm->name();
  }
}

TEST(Assemble, RefusesStepsOnDataThatIsNotThere) {
  const Shape shape{.operation = Operation::reduce, .size = 2};
  const test::Custom writes_output_of_nobody(
      Operation::reduce, 1, 0, [](const Shape&, Rank, std::uint32_t, Sink& sink) { sink.copy(input(), output()); });
  EXPECT_NO_THROW(materialize(writes_output_of_nobody, shape, 0));
  try {
    materialize(writes_output_of_nobody, shape, 1);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_EQ(error.message(),
              "rank 1 cannot 'copy input[0] to output[0]' in a reduce of 2 ranks to rank 0: touches 1 blocks of output "
              "from block 0, but the rank has 0");
  }
}

}  // namespace
}  // namespace stretto::schedule
