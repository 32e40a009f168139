#include "fft3d/field.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fft3d {
namespace {

TEST(Field, TheLargestErrorIsThatOfTheWorstElement) {
  const std::vector<Complex> expected{{4, 0}, {0, 1}, {1, 1}, {0, 0}};
  std::vector<Complex> transposed{{4, 0}, {1, 1}, {0, 1}, {0, 0}};
  EXPECT_EQ(largest_error({2, 2, 1}, transposed, expected), 0);
  transposed[1] += 2;
  transposed[3] += 1;
  EXPECT_EQ(largest_error({2, 2, 1}, transposed, expected), 0.5);
}

TEST(Field, WhatIsNoNumberIsInfinitelyWrong) {
  const Complex no_number(std::nan(""), 0);
  std::vector<Complex> part(4);
  fill(part, 3);
  EXPECT_EQ(largest_change(part, 3, 1), 0);
  const std::vector<Complex> right = part;
  for (const std::size_t wrong : {0U, 1U, 3U}) {
    part = right;
    part[wrong] = no_number;
    EXPECT_TRUE(std::isinf(largest_change(part, 3, 1))) << wrong;
    EXPECT_TRUE(std::isinf(largest_error({1, 1, 4}, part, right))) << wrong;
    EXPECT_TRUE(std::isinf(largest_error({1, 1, 4}, right, part))) << wrong;
  }
}

}  // namespace
}  // namespace fft3d
