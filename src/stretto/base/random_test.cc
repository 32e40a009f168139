#include "stretto/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace stretto {
namespace {

TEST(SplitMix64, MatchesThePublishedSequence) {
  std::uint64_t state = 1234567;
  EXPECT_EQ(next_splitmix64(state), 6457827717110365317U);
  EXPECT_EQ(next_splitmix64(state), 3203168211198807973U);
  EXPECT_EQ(next_splitmix64(state), 9817491932198370423U);
}

TEST(Random, IsTheSameEverywhere) {
  // xoshiro256** 1.0 from the state that SplitMix64 makes of seed 0: the first number is rotl(s[1] * 5, 7) * 9.
  Random random(0);
  EXPECT_EQ(random(), 0x99ec5f36cb75f2b4U);
  EXPECT_EQ(random(), 0xbf6e1f784956452aU);
  EXPECT_EQ(random(), 0x1a5f849d4933e6e0U);
}

TEST(Random, RepeatsItselfByItsSeed) {
  Random first(7);
  Random second(7);
  Random other(8);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t word = first();
    ASSERT_EQ(word, second());
    equal += word == other() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(1);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) {
    const std::uint64_t value = random.below(counts.size());
    ASSERT_LT(value, counts.size());
    ++counts[value];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(2);
  bool saw_first = false;
  bool saw_last = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = random.between(-3, 3);
    ASSERT_GE(value, -3);
    ASSERT_LE(value, 3);
    saw_first |= value == -3;
    saw_last |= value == 3;
  }
  EXPECT_TRUE(saw_first);
  EXPECT_TRUE(saw_last);
  EXPECT_EQ(random.between(5, 5), 5);

  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const auto value =
        random.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    negative |= value < 0;
    positive |= value > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Random, UnitIsUniformOnTheUnitInterval) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.01);
}

TEST(Random, ForksAreStreamsOfTheirOwn) {
  Random random(4);
  Random first = random.fork(0);
  Random again = random.fork(0);
  Random second = random.fork(1);
  Random untouched(4);
  const std::uint64_t word = first();
  EXPECT_EQ(word, again());
  EXPECT_NE(word, second());
  EXPECT_EQ(random(), untouched()) << "forking does not advance the stream";
}

}  // namespace
}  // namespace stretto
