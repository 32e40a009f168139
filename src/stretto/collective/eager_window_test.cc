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
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(window.take(1, payload));
  EXPECT_FALSE(window.take(1, 0));
  EXPECT_TRUE(window.take(2, payload));
  EXPECT_TRUE(window.give_back(1, EagerWindow::cost_of(payload)));
  EXPECT_FALSE(window.take(1, payload + 1));
  EXPECT_TRUE(window.take(1, payload));
}

TEST(EagerWindow, TakesForSeveralPeersOrForNone) {
  EagerWindow window;
  const std::size_t half = EagerWindow::bytes / 2 - EagerWindow::cost_of(0);
  const std::vector<NodeId> peers{3, 1, 19};  // 3 and 19 share a place among the recent ones
  ASSERT_TRUE(window.take_all(peers, half));
  ASSERT_TRUE(window.take(19, 0));
  EXPECT_FALSE(window.take_all(peers, half));
  EXPECT_TRUE(window.take(3, half));
  EXPECT_TRUE(window.take(1, half));
  EXPECT_FALSE(window.take_all(peers, 0));
  EXPECT_TRUE(window.give_back(19, 2 * EagerWindow::cost_of(0))) << "what it was refused is not counted";
}

TEST(EagerWindow, WhatWasNeverSentCannotBeGivenBack) {
  EagerWindow window;
  EXPECT_FALSE(window.give_back(1, 1));
  ASSERT_TRUE(window.take(1, 8));
  EXPECT_FALSE(window.give_back(2, EagerWindow::cost_of(8)));
  EXPECT_FALSE(window.give_back(1, EagerWindow::cost_of(8) + 1));
  EXPECT_TRUE(window.give_back(1, EagerWindow::cost_of(8)));
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
      const std::uint64_t told = receiver.use(0, payload);
      if (told != 0) {
        EXPECT_TRUE(sender.give_back(1, told));
      }
    };
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t payload = random.below(4097);
      if (random.below(5) < 3) {
        if (!sender.take(1, payload)) {
          sender.overdraw(1, payload);
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
    EXPECT_TRUE(sender.take(1, EagerWindow::bytes / 2 - EagerWindow::cost_of(0))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stretto
