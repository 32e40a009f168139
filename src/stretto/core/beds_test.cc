#include "stretto/core/beds.h"

#include <gtest/gtest.h>

#include <optional>

namespace stretto {
namespace {

using Rest = Beds::Rest;
using Whom = Beds::Whom;

TEST(Beds, NobodyIsWokenTwice) {
  Beds beds(3);
  EXPECT_EQ(beds.wake_one(Whom::all), std::nullopt) << "all are up";
  beds.lie_down(1, Rest::sleep);
  beds.lie_down(2, Rest::sleep);
  EXPECT_EQ(beds.wake_one(Whom::all), 1U);
  EXPECT_EQ(beds.wake_one(Whom::all), 2U);
  EXPECT_EQ(beds.wake_one(Whom::all), std::nullopt);
}

TEST(Beds, WhoWakesUpByItselfIsNotWoken) {
  Beds beds(2);
  beds.lie_down(0, Rest::sleep);
  beds.lie_down(1, Rest::nap);
  EXPECT_TRUE(beds.get_up(0));
  EXPECT_TRUE(beds.get_up(1));
  EXPECT_EQ(beds.wake_one(Whom::all), std::nullopt);
  beds.lie_down(0, Rest::sleep);
  ASSERT_EQ(beds.wake_one(Whom::sleepers), 0U);
  EXPECT_FALSE(beds.get_up(0)) << "it was woken";
}

// As long as a further one slept, each task that became ready woke one that napped, which looked for work for nothing
// and took the lines of that queue to and fro (decision 52).
TEST(Beds, WhoNapsIsLeftAloneThoughOthersSleep) {
  Beds beds(3);
  beds.lie_down(0, Rest::nap);
  beds.lie_down(1, Rest::sleep);
  beds.lie_down(2, Rest::nap);
  EXPECT_EQ(beds.wake_one(Whom::sleepers), 1U);
  EXPECT_EQ(beds.wake_one(Whom::sleepers), std::nullopt);
  beds.lie_down(1, Rest::sleep);
  EXPECT_EQ(beds.wake_one(Whom::all), 1U) << "sleepers first";
  EXPECT_EQ(beds.wake_one(Whom::all), 0U);
  EXPECT_EQ(beds.wake_one(Whom::all), 2U);
}

}  // namespace
}  // namespace stretto
