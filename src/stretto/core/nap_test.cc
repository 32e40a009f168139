#include "stretto/core/nap.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace stretto {
namespace {

constexpr double worth_taking_seconds = 5e-6;

// A worker that looks for 50 us, again and again.
class NapTest : public ::testing::Test {
 protected:
  NapTest() { nap_.begin_looks(taken_, now_); }

  // How long it then naps; zero: it does not. Meanwhile others have taken so many.
  double after_looks(std::uint32_t taken, double seconds = 50e-6) {
    taken_ += taken;
    now_ += seconds;
    const bool naps = nap_.after_looks(taken_, now_, worth_taking_seconds);
    EXPECT_EQ(naps, nap_.seconds().has_value());
    return nap_.seconds().value_or(0);
  }

  Nap nap_;
  std::uint32_t taken_ = 0xffff'fff0;  // a count that will wrap
  double now_ = 7;
};

TEST_F(NapTest, NobodyNapsAtFirst) { EXPECT_FALSE(nap_.seconds()); }

TEST_F(NapTest, GetsLongerWhileOthersComeToWhatTheyHave) {
  const double first = after_looks(100);
  EXPECT_GT(first, 0);
  EXPECT_LE(first, 50e-6) << "no longer than it has gone on";
  EXPECT_EQ(after_looks(100), 2 * first);
  EXPECT_EQ(after_looks(100), 4 * first);
  for (int i = 0; i < 100; ++i) after_looks(100);
  EXPECT_LT(after_looks(100), 1e-3);
}

TEST_F(NapTest, IsOnlyForWhereOthersHurry) {
  EXPECT_EQ(after_looks(0), 0);
  EXPECT_EQ(after_looks(5), 0) << "10 us for each: worth taking";
  EXPECT_GT(after_looks(100), 0);
  EXPECT_EQ(after_looks(100, 1e-3), 0) << "in a nap, too";
  EXPECT_GT(after_looks(100), 0);
  EXPECT_EQ(after_looks(0), 0) << "they have nothing more";
}

TEST_F(NapTest, EndsWhereWorkIsFoundAgainAndAgain) {
  for (int i = 0; i < 10; ++i) after_looks(100);
  const double longest = *nap_.seconds();
  nap_.found_work();
  EXPECT_EQ(after_looks(100), longest / 2) << "once is no sign";
  for (int i = 0; i < 5; ++i) nap_.found_work();
  EXPECT_FALSE(nap_.seconds());
}

}  // namespace
}  // namespace stretto
