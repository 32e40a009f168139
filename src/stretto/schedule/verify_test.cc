#include "stretto/schedule/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "stretto/base/error.h"
#include "stretto/schedule/builder.h"
#include "stretto/schedule/step_fault.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

// --- The verifier bites: any one step dropped, doubled or misdirected -----------------------------------------------

void erase_step(Program& program, std::uint32_t step) {
  program.steps.erase(program.steps.begin() + step);
  for (std::uint32_t& offset : program.round_offsets) offset -= offset > step ? 1 : 0;
}

void double_step(Program& program, std::uint32_t step) {
  program.steps.insert(program.steps.begin() + step, program.steps[step]);
  for (std::uint32_t& offset : program.round_offsets) offset += offset > step ? 1 : 0;
}

/// A right collective in which one rank's program is changed at a time.
class Mutator {
 public:
  Mutator(const Algorithm& algorithm, const Shape& shape)
      : algorithm_(algorithm),
        shape_(shape),
        programs_(test::programs(algorithm, shape)),
        schedules_(test::schedules(algorithm, shape)) {}

  void expect_rejected(Rank rank, std::uint32_t step, const char* what, const std::function<void(Program&)>& mutate) {
    Program program = programs_[rank];
    mutate(program);
    const bool is_faulty = std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& s) {
      return !fault_of(shape_, rank, program.scratch_blocks, s).empty();
    });
    if (is_faulty) {
      EXPECT_THROW(assemble(shape_, rank, program), Error);
      return;
    }
    const Schedule right = std::exchange(schedules_[rank], assemble(shape_, rank, std::move(program)));
    EXPECT_TRUE(verify(schedules_, shape_, algorithm_.needs_equal_blocks()))
        << test::label(algorithm_, shape_) << ": accepted with " << what << " at rank " << rank << ", step " << step
        << " (" << describe(right.steps[step]) << ")";
    schedules_[rank] = right;
  }

  void expect_all_rejected_at(Rank rank, std::uint32_t step, std::span<const Rank> other_peers) {
    expect_rejected(rank, step, "a step dropped", [&](Program& program) { erase_step(program, step); });
    expect_rejected(rank, step, "a step doubled", [&](Program& program) { double_step(program, step); });
    const Step& original = programs_[rank].steps[step];
    if (original.is_message()) {
      for (const Rank peer : other_peers) {
        if (peer == original.peer) continue;
        expect_rejected(rank, step, "another peer", [&](Program& program) { program.steps[step].peer = peer; });
      }
    }
    if (original.count == 0) return;
    if (original.kind != StepKind::receive) {
      expect_rejected(rank, step, "another source", [&](Program& program) { ++program.steps[step].source_first; });
      expect_rejected(rank, step, "an earlier source", [&](Program& program) { --program.steps[step].source_first; });
    }
    if (original.kind != StepKind::send) {
      expect_rejected(rank, step, "another destination",
                      [&](Program& program) { ++program.steps[step].destination_first; });
      expect_rejected(rank, step, "an earlier destination",
                      [&](Program& program) { --program.steps[step].destination_first; });
    }
    if (original.kind == StepKind::reduce && !shape_.commutative) {
      expect_rejected(rank, step, "terms exchanged", [&](Program& program) {
        Order& order = program.steps[step].order;
        order = order == Order::source_first ? Order::destination_first : Order::source_first;
      });
    }
  }

  const std::vector<Program>& programs() const { return programs_; }

 private:
  const Algorithm& algorithm_;
  Shape shape_;
  std::vector<Program> programs_;
  std::vector<Schedule> schedules_;
};

class VerifierBites : public testing::TestWithParam<const Algorithm*> {};

TEST_P(VerifierBites, OnAnyStepOfSmallGroups) {
  for (Rank size = 1; size <= test::exhaustive_to(9); ++size) {
    std::vector<Rank> peers;
    for (Rank peer = 0; peer <= size; ++peer) peers.push_back(peer);  // itself and one who does not exist among them
    for (const Shape& shape : test::shapes(*GetParam(), size, size <= 6 ? 2 : 1, size <= 4 ? 2 : 1)) {
      Mutator mutator(*GetParam(), shape);
      for (Rank rank = 0; rank < size; ++rank) {
        for (std::uint32_t step = 0; step < mutator.programs()[rank].steps.size(); ++step) {
          mutator.expect_all_rejected_at(rank, step, peers);
        }
      }
    }
  }
}

TEST_P(VerifierBites, OnRandomStepsOfLargerGroupsSeeds) {
  for (const std::uint64_t seed : test::seeds(4)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const auto size = static_cast<Rank>(10 + random.below(40));
    const std::vector<Shape> shapes = test::shapes(*GetParam(), size, size);
    Mutator mutator(*GetParam(), shapes[random.below(shapes.size())]);
    for (int i = 0; i < 6; ++i) {
      const auto rank = static_cast<Rank>(random.below(size));
      const auto step = static_cast<std::uint32_t>(random.below(mutator.programs()[rank].steps.size()));
      const Rank other = static_cast<Rank>(random.below(size));
      mutator.expect_all_rejected_at(rank, step, std::span(&other, 1));
    }
  }
}

/// Removes one dependency from both of a schedule's lists.
void erase_dependency(Schedule& schedule, std::uint32_t step, std::uint32_t earlier) {
  const auto erase = [](std::vector<std::uint32_t>& list, std::size_t first, std::size_t count, std::uint32_t value) {
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
    list.erase(std::find(begin, begin + static_cast<std::ptrdiff_t>(count), value));
  };
  const Step& s = schedule.steps[step];
  erase(schedule.dependencies, s.dependency_offset, s.dependency_count, earlier);
  --schedule.steps[step].dependency_count;
  for (std::uint32_t i = step + 1; i < schedule.steps.size(); ++i) --schedule.steps[i].dependency_offset;
  erase(schedule.successors, schedule.successor_offsets[earlier], schedule.successors_of(earlier).size(), step);
  for (std::size_t i = earlier + 1; i < schedule.successor_offsets.size(); ++i) --schedule.successor_offsets[i];
}

/// Whether `step` waits for `earlier`, if only through others.
bool waits_for(const Schedule& schedule, std::uint32_t step, std::uint32_t earlier) {
  const auto direct = schedule.dependencies_of(step);
  return std::any_of(direct.begin(), direct.end(), [&](std::uint32_t each) {
    return each == earlier || (each > earlier && waits_for(schedule, each, earlier));
  });
}

TEST_P(VerifierBites, OnAnyMissingDependency) {
  for (Rank size = 2; size <= 9; ++size) {
    for (const Shape& shape : test::shapes(*GetParam(), size, size <= 6 ? 2 : 1, size <= 4 ? 2 : 1)) {
      std::vector<Schedule> schedules = test::schedules(*GetParam(), shape);
      for (Rank rank = 0; rank < size; ++rank) {
        const Schedule right = schedules[rank];
        for (std::uint32_t step = 0; step < right.steps.size(); ++step) {
          for (const std::uint32_t earlier : right.dependencies_of(step)) {
            erase_dependency(schedules[rank], step, earlier);
            if (waits_for(schedules[rank], step, earlier)) {
              schedules[rank] = right;
              continue;
            }
            const auto violation = verify(schedules, shape, GetParam()->needs_equal_blocks());
            ASSERT_TRUE(violation) << test::label(*GetParam(), shape) << ": accepted although step " << step
                                   << " of rank " << rank << " does not wait for step " << earlier;
            EXPECT_NE(violation->reason.find("does not wait for step"), std::string::npos) << violation->text;
            schedules[rank] = right;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedule, VerifierBites, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& test) { return std::string(test.param->name()); });

// --- Each kind of violation, by its reason --------------------------------------------------------------------------

using Writer = test::Custom::Steps;

std::string reason_for(Operation operation, Rank size, std::uint32_t rounds, std::uint32_t scratch, const Writer& steps,
                       bool symmetric = false) {
  const auto violation =
      verify(test::Custom(operation, rounds, scratch, steps, symmetric), {.operation = operation, .size = size});
  return violation ? violation->text : "accepted";
}

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Verify, FindsAnExchangeInPlaceThatDeadlocksWhenMessagesAreLarge) {
  // Each waits for its send before it may receive over what it sends; a large send waits for the other's receive.
  const std::string text =
      reason_for(Operation::allgather, 2, 1, 1, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        sink.copy(input(), scratch());
        sink.copy(input(), output(me));
        exchange(sink, 1 - me, scratch(), scratch());
        sink.copy(scratch(), output(1 - me));
      });
  expect_contains(text, "deadlock: its other end");
}

TEST(Verify, FindsWhatDeadlocksWhereReceivesAreTakenOneAfterAnother) {
  // 0 and 1 exchange what is in scratch; both then write over it, 0 with what comes, 1 with what 2 sends.
  const auto reason_where_1_receives_first_from = [](Rank first) {
    return reason_for(Operation::allgather, 3, 1, 2, [=](const Shape&, Rank me, std::uint32_t, Sink& sink) {
      if (me == 2) return sink.send(1, input());
      sink.copy(input(), scratch());
      sink.send(1 - me, scratch());
      if (me == 0) return sink.receive(1, scratch());
      for (const Rank peer : {first, 2 - first}) sink.receive(peer, scratch(peer == 2 ? 0 : 1));
    });
  };
  expect_contains(reason_where_1_receives_first_from(2), "deadlock: its other end");
  EXPECT_EQ(reason_where_1_receives_first_from(0).find("deadlock"), std::string::npos);
}

TEST(Verify, FindsABarrierThatLetsSomebodyGoEarly) {
  const std::string text =
      reason_for(Operation::barrier, 4, 1, 0, [](const Shape& shape, Rank me, std::uint32_t, Sink& sink) {
        sink.send(after(me, 1, shape.size), nothing());
        sink.receive(before(me, 1, shape.size), nothing());
      });
  EXPECT_EQ(text, "rank 0: may leave the barrier before rank 1 has come");
}

TEST(Verify, FindsAnAlgorithmThatIsWrongInPlaceOnly) {
  const std::string text =
      reason_for(Operation::allreduce, 2, 1, 1, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        sink.copy(input(), scratch());
        sink.send(1 - me, scratch());
        sink.receive(1 - me, output());
        sink.reduce(input(), output(), me == 0 ? Order::source_first : Order::destination_first);
      });
  expect_contains(text, "counts rank 1 twice");
}

TEST(Verify, FindsWhatIsWrongInPlaceOnlyIfAMessageComesEarly) {
  // Rank 1 gives away what it got from rank 2, and its own input: in place that may have been written over by then, or
  // not, as nothing orders the two.
  const std::string text =
      reason_for(Operation::allreduce, 3, 3, 2, [](const Shape&, Rank me, std::uint32_t round, Sink& sink) {
        if (round == 0 && me == 0) sink.copy(input(), output());
        if (round == 0 && me == 1) sink.receive(2, output());
        if (round == 0 && me == 2) sink.send(1, input());
        if (round == 1 && me == 1) sink.send(0, output());
        if (round == 1 && me == 1) sink.send(0, input());
        if (round == 1 && me == 0) {
          for (const std::uint32_t slot : {0U, 1U}) sink.receive(1, scratch(slot));
          for (const std::uint32_t slot : {0U, 1U}) sink.reduce(scratch(slot), output(), Order::destination_first);
        }
        if (round == 2 && me == 0) {
          for (const Rank peer : {1U, 2U}) sink.send(peer, output());
        }
        if (round == 2 && me != 0) sink.receive(0, output());
      });
  expect_contains(text, "counts rank 2 twice");
}

TEST(Verify, FindsABarriersMessageThatWaitsForNoSignal) {
  // Rank 0 tells the others that all have come, but what it sends has blocks, and so does not wait to hear of them.
  const std::string text =
      reason_for(Operation::barrier, 3, 2, 1, [](const Shape& shape, Rank me, std::uint32_t round, Sink& sink) {
        for (Rank rank = 1; rank < shape.size; ++rank) {
          if (round == 0 && me == 0) sink.receive(rank, nothing());
          if (round == 1 && me == 0) sink.send(rank, scratch());
        }
        if (round == 0 && me != 0) sink.send(0, nothing());
        if (round == 1 && me != 0) sink.receive(0, scratch());
      });
  expect_contains(text, "(send scratch[0] to 1 as #0): moves blocks, but a barrier's message has none");
}

TEST(Verify, FindsBlocksWhereOthersBelong) {
  // Both halves of the vector arrive and leave through the slot of the first.
  const test::Custom narrow(Operation::broadcast, 2, 2, [](const Shape&, Rank me, std::uint32_t round, Sink& sink) {
    if (me == 0) sink.send(1, input(round));
    if (me == 0) sink.copy(input(round), output(round));
    if (me == 0) return;
    sink.receive(0, scratch());
    sink.copy(scratch(), output(round));
  });
  const Shape shape{.operation = Operation::broadcast, .size = 2, .blocks = 2};
  const auto violation = verify(narrow, shape);
  ASSERT_TRUE(violation);
  expect_contains(violation->text,
                  "(receive scratch[0] from 0 as #1): puts block 1 of ranks 0 where a block of another");
  EXPECT_FALSE(verify(test::schedules(narrow, shape), shape, /*equal_blocks=*/true));

  const std::string detour =
      reason_for(Operation::all_to_all, 2, 1, 2, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        sink.copy(input(1 - me), scratch(1 - me));
        sink.send(1 - me, scratch(1 - me));
        sink.copy(input(me), output(me));
        sink.receive(1 - me, output(1 - me));
      });
  expect_contains(detour, "rank 0, step 0 (copy input[1] to scratch[1]): puts block 1 of ranks 0 where a block of");
}

TEST(Verify, FindsRunsOfScratchThatAreNotContiguous) {
  const test::Custom crossing(Operation::allreduce, 1, 8, [](const Shape&, Rank, std::uint32_t, Sink& sink) {
    sink.copy(input(0, 2), scratch(3, 2));
  });
  const auto violation = verify(crossing, {.operation = Operation::allreduce, .size = 1, .blocks = 4});
  ASSERT_TRUE(violation);
  expect_contains(violation->text, "of scratch from block 3, but only 4 from a multiple of that are contiguous");
}

TEST(Verify, FindsMessagesThatCrossRounds) {
  const std::string late =
      reason_for(Operation::broadcast, 2, 2, 0, [](const Shape&, Rank me, std::uint32_t round, Sink& sink) {
        if (me == 0 && round == 0) sink.send(1, input());
        if (me == 0 && round == 0) sink.copy(input(), output());
        if (me == 1 && round == 1) sink.receive(0, output());
      });
  expect_contains(late, "its message is sent in another round, 0");
  const std::string relayed =
      reason_for(Operation::broadcast, 3, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        if (me == 0) sink.copy(input(), output());
        if (me > 0) sink.receive(me - 1, output());
        if (me < 2) sink.send(me + 1, me == 0 ? input() : output());
      });
  expect_contains(relayed, "rank 1, step 1 (send output[0] to 2 as #0): sends after a receive of the same round");
}

TEST(Verify, FindsMessagesOfDifferentLengthAndMissingEnds) {
  const std::string length =
      reason_for(Operation::allgather, 2, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        sink.copy(input(), output(me));
        sink.send(1 - me, output(me));
        sink.receive(1 - me, me == 0 ? output(0, 2) : output(0));
      });
  expect_contains(length, "its message has 1 blocks");
  const std::string unsent =
      reason_for(Operation::broadcast, 2, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        if (me == 0) sink.copy(input(), output());
        if (me == 1) sink.receive(0, output());
      });
  EXPECT_EQ(unsent, "rank 1, step 0 (receive output[0] from 0 as #0): nobody sends this message");
  const std::string unheard =
      reason_for(Operation::broadcast, 2, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
        if (me == 0) sink.copy(input(), output());
        if (me == 0) sink.send(1, input());
      });
  EXPECT_EQ(unheard, "rank 0, step 1 (send input[0] to 1 as #0): nobody receives this message");
}

TEST(Verify, FindsWhatARankMayNotTouch) {
  const auto alone = [](Operation operation, std::uint32_t scratch_blocks, const std::function<void(Sink&)>& steps) {
    return reason_for(operation, 2, 1, scratch_blocks, [&](const Shape&, Rank me, std::uint32_t, Sink& sink) {
      if (me == 1) steps(sink);
    });
  };
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.copy(output(), input()); }),
                  "writes the caller's input");
  expect_contains(alone(Operation::reduce, 1, [](Sink& s) { s.copy(input(), output()); }), "but the rank has 0");
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.copy(input(), scratch(1)); }), "but the rank has 1");
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.copy(input(0, ~0U), output(0, ~0U)); }), "touches");
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.copy(input(0, 0), output(0, 0)); }),
                  "moves no blocks");
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.send(1, input()); }), "no message to itself");
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.send(2, input()); }), "peer 2 is not a rank");
  expect_contains(alone(Operation::allreduce, 1, [](Sink& s) { s.copy(scratch(), output()); }),
                  "reads a block that nothing was written to");
  expect_contains(alone(Operation::allreduce, 1,
                        [](Sink& s) {
                          s.copy(input(), scratch());
                          s.copy(input(), scratch());
                        }),
                  "writes a block again that was not read since");
}

TEST(Verify, HoldsAlgorithmsToTheSymmetryThatTheyClaim) {
  const std::string text = reason_for(
      Operation::barrier, 4, 1, 0,
      [](const Shape&, Rank me, std::uint32_t, Sink& sink) { exchange(sink, me ^ 1U, nothing(), nothing()); }, true);
  expect_contains(text, "rank 1, step 0 (send nothing to 0 as #0): claims symmetry");
}

TEST(Verify, RefusesListsThatDoNotFitTogether) {
  const Algorithm& algorithm = find_algorithm("recursive_doubling");
  const Shape shape{.operation = Operation::allreduce, .size = 4};
  const std::vector<Schedule> right = test::schedules(algorithm, shape);
  const auto expect_rejected = [&](std::string_view reason, const std::function<void(std::vector<Schedule>&)>& spoil) {
    std::vector<Schedule> schedules = right;
    spoil(schedules);
    const auto violation = verify(schedules, shape);
    ASSERT_TRUE(violation) << reason;
    expect_contains(violation->text, reason);
  };
  ASSERT_FALSE(verify(right, shape));
  expect_rejected("there are 3 schedules", [](auto& all) { all.pop_back(); });
  expect_rejected("has the schedule of rank 1", [](auto& all) { std::swap(all[0], all[1]); });
  expect_rejected("another shape", [](auto& all) { all[2].shape.size = 5; });
  expect_rejected("rounds do not cut", [](auto& all) { all[2].round_offsets.back() = 1000; });
  expect_rejected("rounds do not cut", [](auto& all) { all[2].round_offsets.clear(); });
  expect_rejected("lie outside", [](auto& all) { all[3].steps.back().dependency_count = ~0U; });
  expect_rejected("not an earlier one", [](auto& all) { all[1].dependencies.back() = 1000; });
  expect_rejected("successors are not", [](auto& all) { all[1].successor_offsets.clear(); });
  expect_rejected("not the steps that wait", [](auto& all) { all[1].successors.back() = all[1].successors.front(); });
  expect_rejected("has the tag of an earlier message", [](auto& all) {
    all[0].steps[4].peer = all[0].steps[1].peer;  // the sends of rounds 0 and 1
  });
  EXPECT_THROW(verify(right, {.operation = Operation::allreduce, .size = 0}), Error);
}

}  // namespace
}  // namespace stretto::schedule
