#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/builder.h"
#include "stretto/schedule/network.h"
#include "stretto/schedule/select.h"
#include "stretto/schedule/simulate.h"
#include "stretto/schedule/test_support.h"
#include "stretto/schedule/verify.h"

// All-reduces to which idle nodes are lent.
namespace stretto::schedule {
namespace {

Shape lent(Rank participants, Rank auxiliaries) {
  return {.operation = Operation::allreduce, .size = participants + auxiliaries, .auxiliaries = auxiliaries};
}

const Algorithm& padded() { return find_algorithm("padded_doubling"); }

/// So many make the group a power of two.
Rank missing(Rank participants) { return std::bit_ceil(participants) - participants; }

TEST(Auxiliaries, HelpRightlyInAnyNumber) {
  for (const Rank participants : test::sizes_to(64)) {
    for (Rank auxiliaries = 1; auxiliaries <= missing(participants) + 2; ++auxiliaries) {
      Shape shape = lent(participants, auxiliaries);
      for (const bool reproducible : {false, true}) {
        shape.reproducible = reproducible;
        shape.commutative = !reproducible;
        const auto violation = verify(padded(), shape);
        ASSERT_FALSE(violation) << describe(shape) << ": " << violation->text;
      }
    }
  }
}

TEST(Auxiliaries, LeaveEachRankOneMessageARound) {
  for (Rank participants = 2; participants <= 64; ++participants) {
    const Shape shape = lent(participants, missing(participants));
    const std::uint32_t rounds = padded().rounds(shape);
    EXPECT_EQ(rounds, doublings(participants));
    for (const Program& program : test::programs(padded(), shape)) {
      for (std::uint32_t round = 0; round < rounds; ++round) {
        std::uint32_t sends = 0;
        for (std::uint32_t i = program.round_offsets[round]; i < program.round_offsets[round + 1]; ++i) {
          if (program.steps[i].kind == StepKind::send) ++sends;
        }
        EXPECT_LE(sends, 1U) << participants;
      }
    }
  }
}

// The anomaly that the Aspen paper points out in section 2.1, and both of its remedies.
TEST(Auxiliaries, LetNineTakeAsManyRoundsAsSixteen) {
  EXPECT_EQ(find_algorithm("recursive_doubling").rounds(lent(9, 0)), 5U);
  EXPECT_EQ(padded().rounds(lent(9, 0)), 4U);
  EXPECT_EQ(padded().rounds(lent(9, 7)), 4U);
}

// Ranks that need not wait for each other's rounds are as quick if they fold, up to three quarters of a power of two:
// the one that is late by a message is late for as many as come later. Beyond, the fold is a message longer.
TEST(Auxiliaries, SaveAMessageOnTheWayBeyondThreeQuartersOfAPower) {
  Network latency_only;
  latency_only.latency = 1;
  const auto seconds = [&](const Algorithm& algorithm, Rank participants, Rank auxiliaries, const Network& network) {
    return simulate(algorithm, lent(participants, auxiliaries), 8, network).maximum;
  };
  const Algorithm& folded = find_algorithm("recursive_doubling");
  for (Rank participants = 5; participants <= 64; ++participants) {
    const Rank idle = missing(participants);
    const bool is_far = idle > 0 && idle < std::bit_ceil(participants) / 4;
    const double helped = seconds(padded(), participants, idle, latency_only);
    EXPECT_EQ(helped, doublings(participants));
    EXPECT_EQ(seconds(padded(), participants, 0, latency_only), helped);
    EXPECT_EQ(seconds(folded, participants, 0, latency_only), helped + (is_far ? 1 : 0)) << participants;
    for (const Network& network : networks()) {
      const double alone =
          std::min(seconds(padded(), participants, 0, network), seconds(folded, participants, 0, network));
      EXPECT_LE(seconds(padded(), participants, idle, network), 1.0001 * alone) << participants << ' ' << network.name;
      if (is_far) {
        EXPECT_LT(seconds(padded(), participants, idle, network), 0.96 * alone) << network.name;
      }
    }
  }
}

Candidate chosen(Rank participants, Rank auxiliaries, std::uint64_t bytes, Link link) {
  Request request;
  request.shape = lent(participants, auxiliaries);
  request.bytes = bytes;
  request.placement = {link, 1, 1};
  return select(request, built_in_costs());
}

TEST(Auxiliaries, AreTakenOnlyWhereTheyAreOfferedAndHelp) {
  for (const Rank participants : test::sizes_to(64)) {
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 20U}) {
      const Candidate alone = chosen(participants, 0, bytes, Link::wire);
      const Candidate helped = chosen(participants, missing(participants), bytes, Link::wire);
      EXPECT_EQ(alone.shape.auxiliaries, 0U);
      EXPECT_LE(helped.price.seconds, alone.price.seconds);
      if (helped.shape.auxiliaries == 0) {
        EXPECT_EQ(helped.algorithm, alone.algorithm);
        EXPECT_EQ(helped.shape, alone.shape);
      } else {
        EXPECT_LT(helped.price.seconds, alone.price.seconds);
      }
    }
  }
  EXPECT_EQ(chosen(13, 3, 8, Link::wire).shape.auxiliaries, 3U);
  EXPECT_EQ(chosen(16, 4, 8, Link::wire).shape.auxiliaries, 0U) << "a power of two needs no help";
  EXPECT_EQ(chosen(13, 3, std::uint64_t{1} << 20U, Link::wire).shape.auxiliaries, 0U) << "long vectors are cut";
}

TEST(Auxiliaries, AreRefusedWhereNobodyHasAUseForThem) {
  EXPECT_EQ(find_algorithm("recursive_doubling").refusal(lent(9, 7)), "recursive_doubling has no use for auxiliaries");
  EXPECT_EQ(defect_of({.operation = Operation::reduce, .size = 4, .auxiliaries = 1}),
            "only an allreduce has auxiliaries; they must be 0");
  EXPECT_EQ(defect_of({.operation = Operation::allreduce, .size = 4, .auxiliaries = 4}),
            "of 4 ranks, all are auxiliary");
  Request request;
  request.shape = {.operation = Operation::reduce, .size = 4, .auxiliaries = 1};
  EXPECT_THROW(select(request, built_in_costs()), Error);
}

// An auxiliary that forgets to pass on what it holds is found out.
TEST(Auxiliaries, AreHeldToTheirPart) {
  const Shape shape = lent(9, 7);
  std::vector<Schedule> schedules = test::schedules(padded(), shape);
  ASSERT_FALSE(verify(schedules, shape));
  for (Rank idle = 9; idle < 16; ++idle) {
    const Schedule right = schedules[idle];
    Program program = write_program(padded(), shape, idle);
    program.steps.pop_back();
    program.round_offsets.back() -= 1;
    schedules[idle] = assemble(shape, idle, std::move(program));
    EXPECT_TRUE(verify(schedules, shape)) << idle;
    schedules[idle] = right;
  }
}

}  // namespace
}  // namespace stretto::schedule
