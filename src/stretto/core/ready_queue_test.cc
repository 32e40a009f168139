#include "stretto/core/ready_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "stretto/core/spawn_options.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

// Processors that nobody drives, to be queued.
class ReadyQueueTest : public ::testing::Test {
 protected:
  ReadyQueueTest() : runtime_(test::options_for("local:1", 1)) {
    Node& node = *runtime_.nodes().front();
    for (std::uint32_t i = 0; i < 4; ++i) {
      processors_.push_back(std::make_unique<Processor>(node, node.engine(), i, Processor::Kind::ordinary));
    }
  }

  Runtime runtime_;
  std::vector<std::unique_ptr<Processor>> processors_;
};

TEST_F(ReadyQueueTest, GivesTheOldestFirstAndCountsWhatItGave) {
  ReadyQueue queue;
  EXPECT_EQ(queue.pop(), nullptr);
  for (const auto& processor : processors_) queue.push(*processor);
  EXPECT_EQ(queue.size(), 4U);
  for (const auto& processor : processors_) EXPECT_EQ(queue.pop(), processor.get());
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.taken(), 4U);
}

TEST_F(ReadyQueueTest, LosesNothingWhenManyTakeAndPutBack) {
  ReadyQueue queue;
  for (const auto& processor : processors_) queue.push(*processor);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t left = test::scaled(20'000); left > 0;) {
        Processor* const processor = queue.pop();
        if (processor == nullptr) continue;
        queue.push(*processor);
        --left;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue.size(), processors_.size());
}

// The task makes another processor ready, by its own worker's queue, and does not end before that has run.
void depend_on_another_worker(Node& node) {
  std::atomic<bool> ran{false};
  node.spawn([&ran] { ran.store(true); }, SpawnOptions().processor(1));
  while (!ran.load()) std::this_thread::yield();
}

TEST(ThreadEngine, WhatALongTaskMadeReadyIsTakenByAnotherWorker) {
  test::run_on(
      "local:1",
      [](Node& node) -> Task<> {
        for (int i = 0; i < 20; ++i) depend_on_another_worker(node);
        co_return;
      },
      2);
}

// Two processors that take turns for a fraction of a millisecond, each turn from the queue of one worker: the other one
// naps (Nap), and is needed then.
TEST(ThreadEngine, WhoNapsWhileAnotherHurriesComesWhenItIsNeeded) {
  test::run_on(
      "local:1",
      [](Node& node) -> Task<> {
        for (int i = 0; i < 20; ++i) {
          for (int turn = 0; turn < 1000; ++turn) co_await node.spawn([] {}, SpawnOptions().processor(1));
          depend_on_another_worker(node);
        }
      },
      2);
}

TEST(Neglect, IsWhatNobodyTakesFor) {
  Neglect neglect;
  EXPECT_FALSE(neglect.look(7, 1.0, 0.5));
  EXPECT_FALSE(neglect.look(7, 1.5, 0.5));
  EXPECT_TRUE(neglect.look(7, 1.6, 0.5));
  // The owner has come to it.
  EXPECT_FALSE(neglect.look(8, 1.7, 0.5));
  EXPECT_FALSE(neglect.look(8, 2.1, 0.5));
  EXPECT_TRUE(neglect.look(8, 2.3, 0.5));
}

// A search may be over sooner than what it looks for is neglected: many short ones find it, too.
TEST(Neglect, CountsFromTheFirstLookThatSawIt) {
  Neglect neglect;
  EXPECT_FALSE(neglect.look(0, 0.0, 1.0));
  EXPECT_TRUE(neglect.look(0, 100.0, 1.0));
}

}  // namespace
}  // namespace stretto
