#include "stretto/collective/inline_attempts.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

int left_out_now(InlineAttempts& attempts) {
  int count = 0;
  while (!attempts.worth_it()) ++count;
  return count;
}

TEST(InlineAttempts, AreLeftOutMoreAndMoreWhereTheyFail) {
  InlineAttempts attempts;
  attempts.note(true);
  EXPECT_EQ(left_out_now(attempts), 0);
  attempts.note(false);
  EXPECT_EQ(left_out_now(attempts), 0) << "one may happen";
  for (const int expected : {2, 4, 8, 16, 32, 32, 32}) {
    attempts.note(false);
    EXPECT_EQ(left_out_now(attempts), expected);
  }
  attempts.note(true);
  EXPECT_EQ(left_out_now(attempts), 0);
  attempts.note(false);
  EXPECT_EQ(left_out_now(attempts), 0) << "what was before is forgotten";
}

}  // namespace
}  // namespace stretto
