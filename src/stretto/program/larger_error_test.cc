#include "stretto/program/larger_error.h"

#include <gtest/gtest.h>

namespace stretto::program {
namespace {

TEST(LargerError, IsInfiniteWhereOneIsNoNumber) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double no_number = std::nan("");
  EXPECT_EQ(larger_error(1, 2), 2);
  EXPECT_EQ(larger_error(2, 1), 2);
  EXPECT_EQ(larger_error(no_number, 1), infinite);
  EXPECT_EQ(larger_error(1, no_number), infinite);
  EXPECT_EQ(larger_error(infinite, 1), infinite);
}

}  // namespace
}  // namespace stretto::program
