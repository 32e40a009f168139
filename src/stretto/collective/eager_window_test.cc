#include "stretto/collective/eager_window.h"

#include <gtest/gtest.h>

#include <vector>

#include "stretto/base/random.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

TEST(EagerWindow, TakesWhatFitsForEachPeer) {
  EagerWindow window;
  const std::size_t payload = EagerWindow::bytes / 4 - EagerWindow::cost_of(0);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(window.with(1).take(payload));
  EXPECT_FALSE(window.with(1).take(0));
  EXPECT_TRUE(window.with(2).take(payload));
  EXPECT_TRUE(window.with(1).give_back(EagerWindow::cost_of(payload)));
  EXPECT_FALSE(window.with(1).take(payload + 1));
  EXPECT_TRUE(window.with(1).take(payload));
}

TEST(EagerWindow, TakesForSeveralPeersOrForNone) {
  EagerWindow window;
  const std::size_t half = EagerWindow::bytes / 2 - EagerWindow::cost_of(0);
  const std::vector<EagerWindow::Account*> peers{&window.with(3), &window.with(1), &window.with(19)};
  ASSERT_TRUE(EagerWindow::take_all(peers, half));
  ASSERT_TRUE(window.with(19).take(0));
  EXPECT_FALSE(EagerWindow::take_all(peers, half));
  EXPECT_TRUE(window.with(3).take(half));
  EXPECT_TRUE(window.with(1).take(half));
  EXPECT_FALSE(EagerWindow::take_all(peers, 0));
  EXPECT_TRUE(window.with(19).give_back(2 * EagerWindow::cost_of(0))) << "what it was refused is not counted";
}

TEST(EagerWindow, WhatWasNeverSentCannotBeGivenBack) {
  EagerWindow window;
  EXPECT_FALSE(window.with(1).give_back(1));
  ASSERT_TRUE(window.with(1).take(8));
  EXPECT_FALSE(window.with(2).give_back(EagerWindow::cost_of(8)));
  EXPECT_FALSE(window.with(1).give_back(EagerWindow::cost_of(8) + 1));
  EXPECT_TRUE(window.with(1).give_back(EagerWindow::cost_of(8)));
}

// Two ends and whatever is under way: what is kept never exceeds the window, but for what was asked for, and a sender
// that finds it full finds room once all has been used.
TEST(EagerWindow, BothEndsAgreeSeeds) {
  for (const std::uint64_t seed : test::seeds(20)) {
    Random random(seed);
    EagerWindow sender;
    EagerWindow receiver;
    std::uint64_t under_way = 0;
    std::uint64_t asked_for = 0;
    std::vector<std::size_t> kept;
    const auto use_one = [&] {
      const std::size_t payload = kept.back();
      kept.pop_back();
      under_way -= EagerWindow::cost_of(payload);
      const std::uint64_t told = receiver.with(0).use(payload);
      if (told != 0) {
        EXPECT_TRUE(sender.with(1).give_back(told));
      }
    };
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t payload = random.below(4097);
      if (random.below(5) < 3) {
        if (!sender.with(1).take(payload)) {
          sender.with(1).overdraw(payload);
          asked_for += EagerWindow::cost_of(payload);
        }
        kept.push_back(payload);
        under_way += EagerWindow::cost_of(payload);
        ASSERT_LE(under_way, EagerWindow::bytes + asked_for) << "seed " << seed;
      } else if (!kept.empty()) {
        use_one();
      }
    }
    while (!kept.empty()) use_one();
    EXPECT_TRUE(sender.with(1).take(EagerWindow::bytes / 2 - EagerWindow::cost_of(0))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stretto
