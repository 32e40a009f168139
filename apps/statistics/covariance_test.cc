#include "statistics/covariance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "statistics/assessment.h"
#include "statistics/test_support.h"

namespace statistics {
namespace {

Covariance covariance_of(const Table& table) { return {table.columns.size(), co_moments(table)}; }

TEST(Covariance, OfASmallTable) {
  Table table;
  table.columns = {{1, 2, 3, 4}, {2, 1, 4, 9}};
  const Covariance covariance = covariance_of(table);
  EXPECT_EQ(covariance.rows(), 4U);
  EXPECT_EQ(covariance.mean(1), 4);
  EXPECT_DOUBLE_EQ(*covariance.covariance(0, 0), 5.0 / 3);
  EXPECT_DOUBLE_EQ(*covariance.covariance(0, 1), 4);  // (3 + 1.5 + 0 + 7.5) / 3
  EXPECT_DOUBLE_EQ(*covariance.covariance(1, 0), *covariance.covariance(0, 1));
  EXPECT_DOUBLE_EQ(*covariance.covariance(1, 1), 38.0 / 3);
  EXPECT_DOUBLE_EQ(*covariance.correlation(0, 1), 12 / std::sqrt(5.0 * 38));
  EXPECT_EQ(covariance.correlation(1, 1), 1);
}

TEST(Covariance, OnlyCompleteRowsCount) {
  Table table;
  table.columns = {{1, 100, 2, 3, 4}, {2, missing, 1, 4, 9}};
  EXPECT_EQ(covariance_of(table).rows(), 4U);
  EXPECT_DOUBLE_EQ(*covariance_of(table).covariance(0, 0), 5.0 / 3);
}

TEST(Covariance, OfTwoPartsIsThatOfTheWhole) {
  const Table table = some_table(64);
  const std::vector<CoMoment> whole = co_moments(table);
  for (std::size_t first = 0; first <= 64; ++first) {
    const std::vector<CoMoment> head = co_moments(rows_of(table, 0, first));
    const std::vector<CoMoment> tail = co_moments(rows_of(table, first, 64));
    ASSERT_EQ(head.size(), pairs_of(3));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const CoMoment both = CombineCoMoments()(head[i], tail[i]);
      EXPECT_EQ(both.count, whole[i].count);
      EXPECT_NEAR(both.mean_x, whole[i].mean_x, 1e-13 * std::abs(whole[i].mean_x));
      EXPECT_NEAR(both.sum, whole[i].sum, 1e-12 * std::abs(whole[i].sum));
    }
  }
}

TEST(Covariance, ItsDiagonalIsTheVariance) {
  const Table table = some_table(100);
  EXPECT_NEAR(*covariance_of(rows_of(table, 0, 3)).covariance(2, 2),
              *variance(Moments::of(std::span(table.columns[2]).first(3))), 1e-14);
}

TEST(Distance, OfOneColumnIsTheStandardScore) {
  Table table;
  table.columns = {{1, 2, 3, 4, 10}};
  const Covariance covariance = covariance_of(table);
  ASSERT_TRUE(covariance.is_regular());
  EXPECT_DOUBLE_EQ(covariance.distance(std::vector<double>{9}), 5 / std::sqrt(12.5));
}

// d^2 = (x - m)' S^-1 (x - m), with the inverse of a 2 x 2 matrix written out.
TEST(Distance, OfTwoColumnsIsThatOfTheDefinition) {
  Table table;
  table.columns = {some_numbers(50, 8), some_numbers(50, 9)};
  for (std::size_t row = 0; row < 50; ++row) table.columns[1][row] += table.columns[0][row];
  const Covariance covariance = covariance_of(table);
  ASSERT_TRUE(covariance.is_regular());
  const double a = *covariance.covariance(0, 0), b = *covariance.covariance(0, 1), d = *covariance.covariance(1, 1);
  for (std::size_t row = 0; row < 50; ++row) {
    const double x = table.columns[0][row] - covariance.mean(0), y = table.columns[1][row] - covariance.mean(1);
    const double expected = std::sqrt((d * x * x - 2 * b * x * y + a * y * y) / (a * d - b * b));
    EXPECT_NEAR(covariance.distance(std::vector<double>{table.columns[0][row], table.columns[1][row]}), expected,
                1e-12);
  }
}

TEST(Distance, IsNotDefinedWhereTheMatrixHasNoInverse) {
  Table table = some_table(50);
  EXPECT_TRUE(covariance_of(table).is_regular());
  EXPECT_FALSE(covariance_of(rows_of(table, 0, 3)).is_regular()) << "as many rows as columns";
  for (std::size_t row = 0; row < 50; ++row)
    table.columns[2][row] = table.columns[0][row] * 1e6 - table.columns[1][row];
  EXPECT_FALSE(covariance_of(table).is_regular()) << "a column follows from the others";
  table.columns[2].assign(50, 4);
  EXPECT_FALSE(covariance_of(table).is_regular()) << "a column does not vary";
  EXPECT_FALSE(covariance_of(table).correlation(0, 2).has_value());
  EXPECT_FALSE(Covariance(2, co_moments(Table{{{}, {}}})).covariance(0, 0).has_value());
}

// The units of a column change neither what can be inverted nor a distance.
TEST(Distance, DoesNotDependOnUnits) {
  Table table = some_table(50);
  std::vector<double> row{table.columns[0][0], table.columns[1][0], table.columns[2][0]};
  const double before = covariance_of(table).distance(row);
  for (double& value : table.columns[1]) value *= 1e30;
  row[1] *= 1e30;
  ASSERT_TRUE(covariance_of(table).is_regular());
  EXPECT_NEAR(covariance_of(table).distance(row), before, 1e-9);
}

TEST(Standardise, ScoresWithSignsAndGaps) {
  Table table;
  table.columns = {{1, 2, 3, missing, 10}, {7, 7, 7, 7, 7}};
  std::vector<Moments> moments{Moments::of(std::vector<double>{1, 2, 3, 4, 10}), Moments::of(table.columns[1])};
  const std::vector<double> deviations = standardise(table, Model(moments, co_moments(table)));
  ASSERT_EQ(deviations.size(), 15U);
  EXPECT_DOUBLE_EQ(deviations[0], -3 / std::sqrt(12.5));
  EXPECT_EQ(deviations[1], 0) << "a value that never varies is no deviation";
  EXPECT_TRUE(std::isnan(deviations[2])) << "no inverse, no distance";
  EXPECT_TRUE(std::isnan(deviations[9]));
  EXPECT_DOUBLE_EQ(deviations[12], 6 / std::sqrt(12.5));
}

TEST(Assess, CountsBeyondTheThresholdOnEitherSide) {
  const std::vector<double> deviations{1, -2.5, missing, -3, 2, 0.5, 2.001, missing, 4};
  const std::vector<Deviations> found = assess(deviations, 3, 2);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].outliers, 2U);
  EXPECT_EQ(found[0].counted, 3U);
  EXPECT_EQ(found[0].largest, 3);
  EXPECT_EQ(found[1].outliers, 1U) << "exactly at the threshold is within";
  EXPECT_EQ(found[1].counted, 2U);
  EXPECT_EQ(found[2].largest, 4);
  EXPECT_EQ(assess({}, 2, 3).size(), 2U);
}

}  // namespace
}  // namespace statistics
