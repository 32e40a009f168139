#include "stretto/program/overlap.h"

#include <gtest/gtest.h>

namespace stretto::program {
namespace {

// Of one call that alone takes half a second, under five seconds of computation.
OverlapSummary summary_of(const Overlapped& times) {
  OverlapTally tally(10, 0.5);
  tally.add(5, times);
  return tally.summary();
}

TEST(Overlap, WhatIsHiddenCostsNothing) {
  const OverlapSummary summary =
      summary_of({.completed = 1, .first_computed = 5, .together = 5, .computing = 5, .waited = 0});
  EXPECT_EQ(summary.iterations, 1);
  EXPECT_EQ(summary.before_end, 1);
  EXPECT_EQ(summary.alone_seconds, 0.5);
  EXPECT_EQ(summary.completion_seconds, 1);
  EXPECT_EQ(summary.computation_seconds, 5);
  EXPECT_EQ(summary.slowdown, 1);
  EXPECT_EQ(summary.exposed, 0);
  EXPECT_EQ(summary.factor, 10);
  EXPECT_EQ(summary.overlap, 1);
}

TEST(Overlap, WhatWaitsForTheEndIsExposedWhole) {
  const OverlapSummary summary =
      summary_of({.completed = 5.5, .first_computed = 5, .together = 5.5, .computing = 5, .waited = 0.5});
  EXPECT_EQ(summary.before_end, 0);
  EXPECT_EQ(summary.slowdown, 1);
  EXPECT_EQ(summary.exposed, 1);
  EXPECT_EQ(summary.overlap, 0);
}

// OSU's overlap counts what a rank waits, and leaves out by how much its computation gets slower.
TEST(Overlap, SlowdownIsExposedButOverlaps) {
  const OverlapSummary summary =
      summary_of({.completed = 1, .first_computed = 5.25, .together = 5.25, .computing = 5.25, .waited = 0.125});
  EXPECT_EQ(summary.slowdown, 1.05);
  EXPECT_EQ(summary.exposed, 0.5);
  EXPECT_EQ(summary.overlap, 0.75);
}

TEST(Overlap, IsNothingAtLeast) {
  const OverlapSummary summary =
      summary_of({.completed = 6, .first_computed = 5, .together = 6, .computing = 5, .waited = 1});
  EXPECT_EQ(summary.overlap, 0);
}

TEST(Overlap, IsInTimeOnlyBeforeTheFirstEnd) {
  const OverlapSummary summary =
      summary_of({.completed = 5.1, .first_computed = 5, .together = 5.25, .computing = 5.25});
  EXPECT_EQ(summary.before_end, 0);
  EXPECT_EQ(summary.exposed, 0.5);
}

// Each repetition is compared with the computation beside it, not with one of another minute.
TEST(Overlap, MediansAreOfPairs) {
  OverlapTally tally(10, 1);
  for (const double speed : {1.0, 4.0, 2.0}) {
    const double alone = 8 * speed;
    tally.add(alone,
              {.completed = speed, .first_computed = alone, .together = alone + speed, .computing = 1.25 * alone});
  }
  const OverlapSummary summary = tally.summary();
  EXPECT_EQ(summary.before_end, 3);
  EXPECT_EQ(summary.slowdown, 1.25);
  EXPECT_EQ(summary.exposed, 2);
  EXPECT_EQ(summary.computation_seconds, 16);
  EXPECT_EQ(summary.completion_seconds, 2);
  EXPECT_EQ(summary.slowest_completion_seconds, 4);
}

}  // namespace
}  // namespace stretto::program
