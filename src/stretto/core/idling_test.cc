#include "stretto/core/idling.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace stretto {
namespace {

using Next = Idling::Next;

// A worker that looks; time goes on by one second a look.
class IdlingTest : public ::testing::Test {
 protected:
  IdlingTest() { limits_.yields = 3; }

  void begin() { idling_.emplace(limits_, requests_, requests_at_turn_); }
  Next look(bool something_came = false) {
    return idling_->after_look(something_came, requests_, [this] { return now_; });
  }
  // How many looks there are until it does anything else, and what that is.
  std::pair<unsigned, Next> looks(bool something_came = false) {
    for (unsigned count = 1;; ++count, something_came = false) {
      now_ += 1;
      const Next next = look(something_came);
      if (next != Next::look) return {count, next};
    }
  }
  using Looks = std::pair<unsigned, Next>;

  Idling::Limits limits_;
  std::uint64_t requests_ = 7;
  std::uint64_t requests_at_turn_ = 6;
  double now_ = 0;
  std::optional<Idling> idling_;
};

TEST_F(IdlingTest, LooksAFewTimesBeforeEachYieldAndThenSleeps) {
  begin();
  const unsigned few = looks().first;
  EXPECT_LT(few, 10U);
  EXPECT_EQ(looks(), Looks(few, Next::yield));
  EXPECT_EQ(looks(), Looks(few, Next::yield));
  EXPECT_EQ(looks(), Looks(few, Next::sleep));
}

TEST_F(IdlingTest, SpinsFirstWhereItHasACore) {
  limits_.spins = 1'000;
  begin();
  EXPECT_EQ(looks(), Looks(1'000, Next::yield));
  EXPECT_LT(looks().first, 10U);
  EXPECT_EQ(looks(true), Looks(1'000, Next::yield)) << "whatever came may be followed by more";
  ++requests_;
  EXPECT_LT(looks().first, 10U) << "nobody else wants the core";
}

TEST_F(IdlingTest, WhateverComesBeginsThePatienceAnew) {
  begin();
  const Looks few = looks();
  EXPECT_EQ(looks(), few);
  EXPECT_EQ(look(), Next::look);
  EXPECT_EQ(looks(true), few);
  EXPECT_EQ(looks(), few);
  EXPECT_EQ(looks(), few);
  EXPECT_EQ(looks().second, Next::sleep);
}

TEST_F(IdlingTest, SleepsAfterTheSecondsOfYieldsThatAreAllowed) {
  limits_.yields = 1'000;
  limits_.yield_seconds = 30;
  begin();
  unsigned yields = 0;
  const double began = now_;
  while (looks().second == Next::yield) ++yields;
  EXPECT_GT(yields, 3U);
  EXPECT_GT(now_ - began, 30);
  EXPECT_LT(now_ - began, 50);
}

class TakesTurns : public IdlingTest {
 protected:
  TakesTurns() {
    limits_.takes_turns = true;
    begin();
    few_ = looks().first;
  }

  unsigned few_ = 0;  // looks, before the first yield
};

TEST_F(TakesTurns, LooksForLongerOnceTheOthersHadTheirTurns) {
  const auto [long_look, next] = looks();
  EXPECT_GT(long_look, 10 * few_);
  EXPECT_EQ(next, Next::yield);
}

TEST_F(TakesTurns, LooksForLongerOnlyOnceUntilSomethingComes) {
  const unsigned long_look = looks().first;
  EXPECT_EQ(looks(), Looks(few_, Next::yield));
  EXPECT_EQ(looks(true).first, few_);
  EXPECT_EQ(looks().first, long_look);
}

TEST_F(TakesTurns, WhatComesMeansThatTheRestIsNear) {
  for (unsigned i = 0; i < 10 * few_; ++i) EXPECT_EQ(look(), Next::look);
  const unsigned long_look = looks(true).first;
  EXPECT_GT(long_look, 10 * few_);
  EXPECT_EQ(looks().first, long_look);
}

// The task that got it goes on in the same turn, and waits again.
TEST_F(TakesTurns, LooksForSomewhatLongerWhereItGaveNobodyAnythingInItsTurn) {
  const unsigned long_look = looks().first;
  requests_at_turn_ = requests_;
  begin();
  const auto [look, next] = looks();
  EXPECT_GT(look, 4 * few_);
  EXPECT_LT(look, long_look / 2);
  EXPECT_EQ(next, Next::yield);
  EXPECT_EQ(looks(), Looks(long_look, Next::yield));
  ++requests_;
  begin();
  EXPECT_EQ(looks(), Looks(few_, Next::yield));
}

TEST_F(TakesTurns, YieldsSoonOnceItGaveOthersSomethingToDo) {
  const unsigned long_look = looks().first;
  ++requests_;
  EXPECT_EQ(looks(true), Looks(few_, Next::yield));
  EXPECT_EQ(looks(true), Looks(long_look, Next::yield));
  for (unsigned i = 0; i < long_look / 2; ++i) EXPECT_EQ(look(), Next::look);
  ++requests_;
  EXPECT_EQ(looks(), Looks(few_, Next::yield));
}

TEST_F(TakesTurns, StillSleepsInTheEnd) {
  EXPECT_EQ(looks().second, Next::yield);
  EXPECT_EQ(looks().second, Next::yield);
  EXPECT_EQ(looks().second, Next::sleep);
}

// Who does not look itself has nothing to see before others make a task ready, and wake it if it sleeps.
TEST_F(IdlingTest, WhoLeavesTheLookingToOthersYieldsAndSleepsSoon) {
  limits_.spins = 10;
  begin();
  idling_->leave_it_to_others();
  EXPECT_EQ(looks(), Looks(4, Next::yield));
  EXPECT_EQ(looks(), Looks(4, Next::yield));
  EXPECT_EQ(looks(), Looks(4, Next::yield));
  EXPECT_EQ(looks(), Looks(4, Next::sleep));
  begin();
  idling_->leave_it_to_others();
  EXPECT_EQ(looks(true), Looks(10, Next::yield)) << "it looks again";
}

}  // namespace
}  // namespace stretto
