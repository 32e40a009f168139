#include "statistics/histogram.h"

#include <gtest/gtest.h>

#include "statistics/test_support.h"

namespace statistics {
namespace {

std::vector<std::uint64_t> histogram(const std::vector<double>& values, const Bins& bins) {
  std::vector<std::uint64_t> counts(bins.count());
  count_values(values, bins, counts);
  return counts;
}

using Counts = std::vector<std::uint64_t>;

TEST(Histogram, BinsHoldTheirLowerEdgesAndTheLastItsUpperToo) {
  EXPECT_EQ(histogram({0, 1, 2, 3, 4}, Bins(0, 4, 4)), (Counts{1, 1, 1, 2}));
  EXPECT_EQ(histogram({0, 0.99, 4}, Bins(0, 4, 1)), (Counts{3}));
}

TEST(Histogram, MissingValuesDoNotCount) { EXPECT_EQ(histogram({missing, 1, missing}, Bins(0, 2, 2)), (Counts{0, 1})); }

TEST(Histogram, OfOneValueReachesHalfAUnitToEitherSide) {
  const Bins bins(5, 5, 4);
  EXPECT_EQ(bins.edge(0), 4.5);
  EXPECT_EQ(bins.edge(4), 5.5);
  EXPECT_EQ(histogram({5, 5}, bins), (Counts{0, 0, 2, 0}));
  EXPECT_EQ(histogram({1e70, 1e70}, Bins(1e70, 1e70, 3)), (Counts{2, 0, 0})) << "half a unit is nothing there";
}

// Whatever rounding does to the quotient, the edges decide.
TEST(Histogram, EveryEdgeIsInTheBinThatItBegins) {
  for (std::size_t count = 1; count <= 64; ++count) {
    for (const double low : {-0.3, 0.1, 1e9 + 0.1}) {
      const Bins bins(low, low + 0.7, count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(bins.bin_of(bins.edge(i)), i) << count << " from " << low;
        EXPECT_LE(bins.bin_of(std::nextafter(bins.edge(i + 1), low)), i) << count << " from " << low;
      }
      EXPECT_EQ(bins.bin_of(low + 0.7), count - 1);
    }
  }
}

TEST(Histogram, CountsEverything) {
  const std::vector<double> values = some_numbers(1000, 4);
  for (const std::size_t bins : {1U, 2U, 7U, 64U, 1000U}) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : histogram(values, Bins(5, 8, bins))) all += count;
    EXPECT_EQ(all, 1000U);
  }
}

}  // namespace
}  // namespace statistics
