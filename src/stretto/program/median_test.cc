#include "stretto/program/median.h"

#include <gtest/gtest.h>

#include <numeric>

namespace stretto::program {
namespace {

std::vector<double> first_numbers(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Median, IsTheUpperOneOfTwoInTheMiddle) {
  EXPECT_EQ(median_of({7}), 7);
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({9, 1, 5, 3}), 5);
}

TEST(P99, IsWhatNinetyNineOfAHundredDoNotExceed) {
  EXPECT_EQ(p99_of_sorted(first_numbers(1)), 1);
  EXPECT_EQ(p99_of_sorted(first_numbers(8)), 8);
  EXPECT_EQ(p99_of_sorted(first_numbers(100)), 99);
  EXPECT_EQ(p99_of_sorted(first_numbers(101)), 100);
  EXPECT_EQ(p99_of_sorted(first_numbers(20'000)), 19'800);
}

}  // namespace
}  // namespace stretto::program
