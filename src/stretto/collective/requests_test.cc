#include "stretto/collective/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

constexpr std::size_t large = 4 * piece_bytes;

TEST(Requests, TheNextOneIsAskedForWhenLittleIsToComeOfTheOnesBefore) {
  Requests requests;
  EXPECT_TRUE(requests.may_ask(3, large));
  EXPECT_FALSE(requests.may_ask(5, large));
  EXPECT_FALSE(requests.may_ask(4, large));
  requests.came(3, 2 * piece_bytes);
  EXPECT_EQ(requests.next(), Requests::none);
  requests.came(3, piece_bytes);
  EXPECT_EQ(requests.next(), 4U) << "in the order of the schedule";
  EXPECT_EQ(requests.next(), Requests::none);
  requests.came(3, piece_bytes);
  requests.came(4, 3 * piece_bytes);
  EXPECT_EQ(requests.next(), 5U);
  EXPECT_EQ(requests.next(), Requests::none);
}

TEST(Requests, SmallOnesGoTogether) {
  Requests requests;
  for (std::uint32_t receive = 0; receive < 5; ++receive) {
    EXPECT_TRUE(requests.may_ask(receive, piece_bytes / 4)) << receive;
  }
  EXPECT_FALSE(requests.may_ask(5, piece_bytes / 4));
}

TEST(Requests, NoneWaitsForALaterOne) {
  Requests requests;
  EXPECT_TRUE(requests.may_ask(7, large));
  EXPECT_TRUE(requests.may_ask(2, large));
  EXPECT_FALSE(requests.may_ask(4, large));
  EXPECT_FALSE(requests.may_ask(8, large));
  requests.came(2, large);
  EXPECT_EQ(requests.next(), 4U) << "though 7 has not come";
}

TEST(Requests, AnotherCallBeginsAnew) {
  Requests requests;
  EXPECT_TRUE(requests.may_ask(1, large));
  EXPECT_FALSE(requests.may_ask(2, large));
  requests.clear();
  EXPECT_EQ(requests.next(), Requests::none);
  EXPECT_TRUE(requests.may_ask(2, large));
}

// Whatever starts when, and comes in whichever order: all are asked for, once.
TEST(Requests, AllAreAskedForSeeds) {
  for (const std::uint64_t seed : test::seeds(200)) {
    Random random(seed);
    const auto count = static_cast<std::uint32_t>(1 + random.below(12));
    Requests requests;
    std::vector<std::uint32_t> to_start(count);
    for (std::uint32_t i = 0; i < count; ++i) to_start[i] = i;
    std::vector<std::size_t> to_come(count);
    for (std::size_t& bytes : to_come) bytes = 1 + random.below(3 * piece_bytes);
    std::vector<std::uint32_t> coming;
    std::uint32_t asked = 0;
    const auto ask = [&](std::uint32_t receive) {
      EXPECT_EQ(std::count(coming.begin(), coming.end(), receive), 0);
      coming.push_back(receive);
      ++asked;
    };
    while (!to_start.empty() || !coming.empty()) {
      if (coming.empty() || (!to_start.empty() && random.below(2) == 0)) {
        const std::size_t which = random.below(to_start.size());
        const std::uint32_t receive = to_start[which];
        to_start.erase(to_start.begin() + static_cast<std::ptrdiff_t>(which));
        if (requests.may_ask(receive, to_come[receive])) ask(receive);
      } else {
        const std::size_t which = random.below(coming.size());
        const std::uint32_t receive = coming[which];
        const std::size_t bytes = std::min(to_come[receive], piece_bytes);
        requests.came(receive, bytes);
        if ((to_come[receive] -= bytes) == 0) coming.erase(coming.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (std::uint32_t next = requests.next(); next != Requests::none; next = requests.next()) ask(next);
    }
    EXPECT_EQ(asked, count) << test::replay(seed);
  }
}

}  // namespace
}  // namespace stretto
