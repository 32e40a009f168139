#include "stencil_1d/problem.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stencil_1d {
namespace {

TEST(Problem, TheDerivativeOfAPolynomialOfDegreeFourIsExact) {
  const auto polynomial = [](double x) { return 3 * x * x * x * x - 2 * x * x * x + x - 5; };
  const auto its_slope = [](double x) { return 12 * x * x * x - 6 * x * x + 1; };
  const double spacing = 0.125;
  std::vector<double> values;
  for (int i = -2; i < 12; ++i) values.push_back(polynomial(i * spacing));
  std::vector<double> derivative(10);
  differentiate(values, spacing, derivative);
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(derivative[static_cast<std::size_t>(i)], its_slope(i * spacing), 1e-12);
}

TEST(Problem, AShardsResultIsAMultipleOfTwoToTheMinus36) {
  const std::vector<double> derivative{0.1, 0.2, 1.0 / 3};
  const double result = shard_result(derivative, 0.01);
  EXPECT_NEAR(result, 0.01 * (0.1 + 0.2 + 1.0 / 3), 0x1p-36);
  EXPECT_EQ(std::floor(result * 0x1p36), result * 0x1p36);
}

TEST(Problem, SumsOfResultsDoNotDependOnTheirOrder) {
  double forward = 0;
  double backward = 0;
  for (int i = 0; i < 65536; ++i) {
    const double up = std::cos(i);
    const double down = std::cos(65535 - i);
    forward += shard_result({&up, 1}, 1);
    backward += shard_result({&down, 1}, 1);
  }
  EXPECT_EQ(forward, backward);
}

TEST(Problem, PointsLieInTheMiddleOfTheirCells) {
  const Grid grid(4, 5);
  EXPECT_EQ(grid.size(), 20U);
  EXPECT_DOUBLE_EQ(grid.spacing(), 0.05);
  EXPECT_DOUBLE_EQ(grid.position(0), 0.025);
  EXPECT_DOUBLE_EQ(grid.position(-1), -0.025);
  EXPECT_DOUBLE_EQ(grid.position(19), 0.975);
}

// The sum is the midpoint rule for the integral of cos(x + p) over [0, 1].
TEST(Problem, EachSumIsTheIntegralForThePhaseBefore) {
  const std::vector<double> results = serial_results(Grid(8, 125), 20);
  ASSERT_EQ(results.size(), 20U);
  double phase = 0;
  for (const double result : results) {
    EXPECT_NEAR(result, std::sin(1 + phase) - std::sin(phase), 1e-6);
    phase = result;
  }
  EXPECT_NE(results[0], results[1]);
}

TEST(Problem, TheErrorIsThatOfTheWorstPoint) {
  const Grid grid(2, 3);
  std::vector<double> derivative;
  for (int i = 3; i < 6; ++i) derivative.push_back(slope(grid.position(i), 0.5));
  EXPECT_EQ(largest_error(grid, 3, derivative, 0.5), 0);
  derivative[1] -= 0.25;
  derivative[2] += 0.125;
  EXPECT_NEAR(largest_error(grid, 3, derivative, 0.5), 0.25, 1e-15);
  derivative[0] = std::nan("");
  EXPECT_TRUE(std::isinf(largest_error(grid, 3, derivative, 0.5)));
}

}  // namespace
}  // namespace stencil_1d
