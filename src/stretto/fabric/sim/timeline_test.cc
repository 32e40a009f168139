#include "stretto/fabric/sim/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace stretto::fabric {
namespace {

class Note final : public Action {
 public:
  Note(std::vector<int>& log, int number) : log_(log), number_(number) {}
  void run() override { log_.push_back(number_); }

 private:
  std::vector<int>& log_;
  int number_;
};

TEST(Timeline, SecondsBecomePicoseconds) {
  EXPECT_EQ(to_virtual(1.5e-6), 1'500'000);
  EXPECT_EQ(to_virtual(0), 0);
  EXPECT_EQ(to_virtual(3600), 3'600'000'000'000'000);
  EXPECT_DOUBLE_EQ(to_seconds(to_virtual(0.125)), 0.125);
}

TEST(Timeline, ActionsRunInTheOrderOfTheirTimes) {
  Timeline timeline(1);
  std::vector<int> log;
  for (const int time : {5, 3, 9, 1, 7}) timeline.at(time, std::make_unique<Note>(log, time), 0);
  EXPECT_EQ(timeline.next_time(), 1);
  while (timeline.step()) EXPECT_EQ(timeline.now(), log.back());
  EXPECT_EQ(log, (std::vector<int>{1, 3, 5, 7, 9}));
  EXPECT_EQ(timeline.steps(), 5U);
  EXPECT_TRUE(timeline.empty());
}

TEST(Timeline, TheSeedOrdersWhatHappensAtTheSameTime) {
  const auto order = [](std::uint64_t seed) {
    Timeline timeline(seed);
    std::vector<int> log;
    for (int i = 0; i < 50; ++i) timeline.at(10, std::make_unique<Note>(log, i), 0);
    while (timeline.step()) {
    }
    return log;
  };
  EXPECT_EQ(order(3), order(3));
  EXPECT_NE(order(3), order(4));
  std::vector<int> sorted = order(3);
  EXPECT_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
}

TEST(Timeline, TheHashTellsRunsApart) {
  const auto hash = [](VirtualTime time, std::uint64_t label, std::uint64_t traced) {
    Timeline timeline(1);
    std::vector<int> log;
    timeline.at(time, std::make_unique<Note>(log, 0), label);
    timeline.step();
    timeline.trace(traced);
    return timeline.trace_hash();
  };
  EXPECT_EQ(hash(1, 2, 3), hash(1, 2, 3));
  EXPECT_NE(hash(1, 2, 3), hash(2, 2, 3));
  EXPECT_NE(hash(1, 2, 3), hash(1, 3, 3));
  EXPECT_NE(hash(1, 2, 3), hash(1, 2, 4));
}

TEST(Timeline, WhatNeverRanIsFreed) {
  const auto alive = std::make_shared<int>(0);
  struct Holder final : Action {
    explicit Holder(std::shared_ptr<int> its) : held(std::move(its)) {}
    void run() override {}
    std::shared_ptr<int> held;
  };
  {
    Timeline timeline(1);
    timeline.at(1, std::make_unique<Holder>(alive), 0);
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace stretto::fabric
