#include "stretto/schedule/in_place.h"

#include <gtest/gtest.h>

#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

/// The name of the first receive's reader in the first round of `rank`, if it is read in place.
bool reads_in_place(std::string_view name, Rank size, Rank rank) {
  const Algorithm& algorithm = find_algorithm(name);
  const Round round(algorithm, test::shape(algorithm, size), rank, 0);
  for (std::size_t at = 0; at < round.steps().size(); ++at) {
    if (round[at].kind != StepKind::receive) continue;
    const std::size_t reader = round.reader_of(at);
    if (reader == Round::none) return false;
    EXPECT_EQ(round[reader].kind, StepKind::reduce);
    EXPECT_GT(reader, at);
    return true;
  }
  return false;
}

TEST(InPlace, WhoCombinesFirstAndSendsSomethingElseReadsInPlace) {
  for (Rank size = 2; size <= 17; ++size) {
    for (Rank rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(reads_in_place("direct_allreduce", size, rank));
      EXPECT_EQ(reads_in_place("linear_reduce", size, rank), rank == 0);
      EXPECT_FALSE(reads_in_place("linear_broadcast", size, rank));
    }
  }
}

bool lends(std::string_view name, Rank size, Rank rank) {
  const Algorithm& algorithm = find_algorithm(name);
  return Round(algorithm, test::shape(algorithm, size), rank, 0).lends();
}

TEST(InPlace, WhoWritesOverItsInputOnlyWhereThatIsItsOutputLends) {
  for (Rank size = 2; size <= 32; size *= 2) {
    for (Rank rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(reads_in_place("recursive_doubling", size, rank));
      EXPECT_TRUE(lends("recursive_doubling", size, rank));
      EXPECT_FALSE(lends("direct_allreduce", size, rank)) << "it sends other blocks than it writes";
    }
  }
}

TEST(InPlace, WhoWritesOverWhatItSendsDoesNot) {
  for (Rank size = 2; size <= 32; size *= 2) {
    for (Rank rank = 0; rank < size; ++rank) {
      EXPECT_FALSE(reads_in_place("padded_doubling", size, rank));
      EXPECT_FALSE(lends("padded_doubling", size, rank));
    }
  }
}

// A scan adds what comes to what it passes on and to its own result.
TEST(InPlace, WhatIsReadTwiceIsSent) { EXPECT_FALSE(reads_in_place("aligned_scan", 8, 1)); }

TEST(InPlace, MessagesAreFoundByPeerAndOrdinal) {
  const Algorithm& algorithm = find_algorithm("direct_allreduce");
  const Round round(algorithm, test::shape(algorithm, 5), 2, 0);
  for (const Rank peer : {0U, 1U, 3U, 4U}) {
    EXPECT_EQ(round[round.find(StepKind::send, peer, 0)].peer, peer);
    EXPECT_EQ(round[round.find(StepKind::receive, peer, 0)].kind, StepKind::receive);
    EXPECT_EQ(round.find(StepKind::send, peer, 1), Round::none);
  }
  EXPECT_EQ(round.find(StepKind::send, 2, 0), Round::none);
}

}  // namespace
}  // namespace stretto::schedule
