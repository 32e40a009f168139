#include "stretto/collective/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

constexpr std::size_t large = 4 * piece_bytes;

Requests of(std::initializer_list<std::pair<std::uint32_t, std::size_t>> receives) {
  Requests requests;
  for (const auto& [receive, bytes] : receives) requests.list(receive, bytes);
  return requests;
}

TEST(Requests, TheNextOneIsAskedForWhenLittleIsToComeOfTheOnesBefore) {
  Requests requests = of({{3, large}, {4, large}, {5, large}});
  EXPECT_TRUE(requests.may_ask(3));
  EXPECT_FALSE(requests.may_ask(5));
  EXPECT_FALSE(requests.may_ask(4));
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
  for (std::uint32_t receive = 0; receive < 6; ++receive) requests.list(receive, piece_bytes / 4);
  for (std::uint32_t receive = 0; receive < 5; ++receive) EXPECT_TRUE(requests.may_ask(receive)) << receive;
  EXPECT_FALSE(requests.may_ask(5));
}

TEST(Requests, NoneOvertakesOneThatHasNotStarted) {
  Requests requests = of({{2, large}, {4, large}, {7, large}});
  EXPECT_FALSE(requests.may_ask(7));
  EXPECT_TRUE(requests.may_ask(2));
  requests.came(2, large);
  EXPECT_EQ(requests.next(), Requests::none) << "4 has not started";
  EXPECT_TRUE(requests.may_ask(4));
  requests.came(4, large);
  EXPECT_EQ(requests.next(), 7U);
}

TEST(Requests, WhatIsNotListedWaitsForNothing) {
  Requests requests = of({{2, large}});
  EXPECT_TRUE(requests.may_ask(3));
  requests.came(3, large);
  EXPECT_TRUE(requests.may_ask(2));
}

TEST(Requests, AnotherCallBeginsAnew) {
  Requests requests = of({{1, large}, {2, large}});
  EXPECT_TRUE(requests.may_ask(1));
  EXPECT_FALSE(requests.may_ask(2));
  requests.clear();
  EXPECT_EQ(requests.next(), Requests::none);
  requests.list(2, large);
  EXPECT_TRUE(requests.may_ask(2));
}

// Whatever starts when, and comes in whichever order: all are asked for, once, none with more than a piece before it.
TEST(Requests, AllAreAskedForInTurnSeeds) {
  for (const std::uint64_t seed : test::seeds(200)) {
    SCOPED_TRACE(test::replay(seed));
    Random random(seed);
    const auto count = static_cast<std::uint32_t>(1 + random.below(12));
    Requests requests;
    std::vector<std::uint32_t> to_start(count);
    std::vector<std::size_t> to_come(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      to_start[i] = i;
      to_come[i] = 1 + random.below(3 * piece_bytes);
      requests.list(i, to_come[i]);
    }
    std::vector<std::uint32_t> coming;
    std::uint32_t asked = 0;
    const auto ask = [&](std::uint32_t receive) {
      EXPECT_EQ(std::count(coming.begin(), coming.end(), receive), 0);
      EXPECT_LE(std::accumulate(to_come.begin(), to_come.begin() + receive, std::size_t{0}), Requests::least_to_come);
      coming.push_back(receive);
      ++asked;
    };
    while (!to_start.empty() || !coming.empty()) {
      if (coming.empty() || (!to_start.empty() && random.below(2) == 0)) {
        const std::size_t which = random.below(to_start.size());
        const std::uint32_t receive = to_start[which];
        to_start.erase(to_start.begin() + static_cast<std::ptrdiff_t>(which));
        if (requests.may_ask(receive)) ask(receive);
      } else {
        const std::size_t which = random.below(coming.size());
        const std::uint32_t receive = coming[which];
        const std::size_t bytes = std::min(to_come[receive], piece_bytes);
        requests.came(receive, bytes);
        if ((to_come[receive] -= bytes) == 0) coming.erase(coming.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (std::uint32_t next = requests.next(); next != Requests::none; next = requests.next()) ask(next);
    }
    EXPECT_EQ(asked, count);
  }
}

}  // namespace
}  // namespace stretto
