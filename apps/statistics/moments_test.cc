#include "statistics/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "statistics/csv.h"
#include "statistics/test_support.h"

namespace statistics {
namespace {

/// By definition, in long double: the mean first.
Moments by_definition(const std::vector<double>& values) {
  Moments moments;
  long double sum = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    ++moments.count;
    moments.minimum = std::fmin(moments.minimum, value);
    moments.maximum = std::fmax(moments.maximum, value);
    sum += value;
  }
  if (moments.count == 0) return moments;
  const long double mean = sum / static_cast<long double>(moments.count);
  long double m2 = 0, m3 = 0, m4 = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    const long double d = value - mean;
    m2 += d * d, m3 += d * d * d, m4 += d * d * d * d;
  }
  moments.mean = static_cast<double>(mean);
  moments.m2 = static_cast<double>(m2), moments.m3 = static_cast<double>(m3), moments.m4 = static_cast<double>(m4);
  return moments;
}

void expect_same(const Moments& is, const Moments& should_be, double tolerance = 1e-12) {
  EXPECT_EQ(is.count, should_be.count);
  EXPECT_EQ(is.minimum, should_be.minimum);
  EXPECT_EQ(is.maximum, should_be.maximum);
  EXPECT_NEAR(is.mean, should_be.mean, tolerance * std::abs(should_be.mean));
  EXPECT_NEAR(is.m2, should_be.m2, tolerance * should_be.m2);
  EXPECT_NEAR(is.m3, should_be.m3, tolerance * std::pow(should_be.m2, 1.5));
  EXPECT_NEAR(is.m4, should_be.m4, tolerance * should_be.m4);
}

TEST(Moments, AreThoseOfTheDefinition) {
  for (std::size_t count = 0; count <= 64; ++count) {
    const std::vector<double> values = some_numbers(count, count);
    expect_same(Moments::of(values), by_definition(values));
  }
  const std::vector<double> many = some_numbers(100'000, 7);
  expect_same(Moments::of(many), by_definition(many));
}

TEST(Moments, MissingValuesDoNotCount) {
  const Moments moments = Moments::of(std::vector<double>{missing, 3, missing, 5, missing});
  EXPECT_EQ(moments.count, 2U);
  EXPECT_EQ(moments.mean, 4);
  EXPECT_EQ(moments.m2, 2);
  EXPECT_EQ(Moments::of(std::vector<double>{missing}).count, 0U);
}

TEST(Moments, OfTwoPartsAreThoseOfTheWhole) {
  const std::vector<double> values = some_numbers(64, 3);
  const Moments whole = by_definition(values);
  for (std::size_t first = 0; first <= values.size(); ++first) {
    const std::span<const double> all(values);
    expect_same(CombineMoments()(Moments::of(all.first(first)), Moments::of(all.subspan(first))), whole);
    expect_same(CombineMoments()(Moments::of(all.subspan(first)), Moments::of(all.first(first))), whole);
  }
}

TEST(Moments, OfTheLeastAndTheGreatestValuesHaveTheSameShape) {
  const std::vector<double> values = some_numbers(1000, 5);
  const Moments moments = Moments::of(values);
  for (const double unit : {least_value, most_value / 8}) {
    std::vector<double> scaled = values;
    for (double& value : scaled) value *= unit;
    const Moments of_scaled = Moments::of(scaled);
    EXPECT_NEAR(*standard_deviation(of_scaled) / unit, *standard_deviation(moments), 1e-12) << unit;
    EXPECT_NEAR(*skewness(of_scaled), *skewness(moments), 1e-12) << unit;
    EXPECT_NEAR(*kurtosis(of_scaled), *kurtosis(moments), 1e-12) << unit;
  }
}

TEST(Moments, StandFarFromZero) {
  std::vector<double> values = some_numbers(1000, 5);
  const Moments near = Moments::of(values);
  for (double& value : values) value = std::round(value * 0x1p20) * 0x1p-20 + 0x1p30;
  const Moments far = Moments::of(values);
  EXPECT_NEAR(*variance(far), *variance(near), 1e-5 * *variance(near));
  EXPECT_NEAR(*skewness(far), *skewness(near), 1e-4);
}

TEST(Derived, OfASmallSet) {
  const Moments moments = Moments::of(std::vector<double>{1, 2, 3, 4, 10});
  EXPECT_NEAR(*variance(moments), 12.5, 1e-14);
  EXPECT_NEAR(*standard_deviation(moments), std::sqrt(12.5), 1e-14);
  EXPECT_NEAR(*skewness(moments), 36 / std::pow(10, 1.5), 1e-14);  // m3 = (-27 - 8 - 1 + 0 + 216) / 5
  EXPECT_NEAR(*kurtosis(moments), 278.8 / 100 - 3, 1e-14);         // m4 = (81 + 16 + 1 + 0 + 1296) / 5
}

TEST(Derived, WhatIsNotDefinedIsNotThere) {
  EXPECT_FALSE(variance(Moments()).has_value());
  EXPECT_FALSE(standard_deviation(Moments::of(1.5)).has_value());
  const Moments constant = Moments::of(std::vector<double>(37, 0.1));
  EXPECT_EQ(variance(constant), 0) << "no rounding error pretends to be a spread";
  EXPECT_FALSE(skewness(constant).has_value());
  EXPECT_FALSE(kurtosis(constant).has_value());
}

TEST(Derived, LargestValuesStayFinite) {
  const Moments moments = Moments::of(std::vector<double>{1e70, -1e70, 1e70, -1e70});
  EXPECT_DOUBLE_EQ(*kurtosis(moments), -2);
  EXPECT_EQ(*skewness(moments), 0);
}

}  // namespace
}  // namespace statistics
