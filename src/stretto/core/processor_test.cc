#include "stretto/core/processor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "stretto/core/engine.h"
#include "stretto/core/test_support.h"
#include "stretto/core/worker.h"

namespace stretto {
namespace {

// Only collects the processors that become ready.
class CollectingEngine final : public Engine {
 public:
  void make_ready(Processor& processor) noexcept override {
    const std::lock_guard lock(mutex_);
    ready_.push_back(&processor);
  }
  void make_ready_for(Processor& processor, Worker&) noexcept override { make_ready(processor); }
  Processor* next(Worker&) override { return nullptr; }
  bool others_wait_for(Worker&) noexcept override { return false; }
  bool linger(const Processor&, const EventTable&, Event) noexcept override { return false; }
  void attend(fabric::Context&, const EventTable&, Event, Until, double) noexcept override {}
  void note_look() noexcept override {}
  bool others_want_worker() const noexcept override { return false; }
  void before_task(Worker&) override {}
  void begin_slice() noexcept override {}
  void end_slice() noexcept override {}
  double now() const noexcept override { return 0; }
  void charge(Worker&, double) override {}
  bool simulated() const noexcept override { return false; }
  void hand_over(fabric::Context&) noexcept override {}

  Processor* take() {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) return nullptr;
    Processor* const first = ready_.front();
    ready_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::deque<Processor*> ready_;
};

struct Numbered : Runnable {
  Numbered(int its_priority, int its_number) noexcept : Runnable(nullptr, its_priority), number(its_number) {}
  int number;
  std::atomic<int> taken{0};
};

class ProcessorTest : public testing::Test {
 protected:
  int pop() {
    const Runnable* const runnable = processor_.pop();
    return runnable == nullptr ? -1 : static_cast<const Numbered*>(runnable)->number;
  }

  Runtime runtime_{test::options_for("sim:1")};
  CollectingEngine engine_;
  Processor processor_{*runtime_.nodes()[0], engine_, 0, Processor::Kind::ordinary};
};

TEST_F(ProcessorTest, BecomesReadyOnceForAnyNumberOfPosts) {
  Numbered first(0, 1);
  Numbered second(0, 2);
  EXPECT_EQ(engine_.take(), nullptr);
  processor_.post(&first);
  processor_.post(&second);
  EXPECT_EQ(engine_.take(), &processor_);
  EXPECT_EQ(engine_.take(), nullptr);
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(pop(), 2);
  EXPECT_EQ(pop(), -1);
  EXPECT_FALSE(processor_.release());
  processor_.post(&first);
  EXPECT_EQ(engine_.take(), &processor_);
}

TEST_F(ProcessorTest, CountsHowOftenItComesToHaveWorkAndToHaveNone) {
  Numbered first(0, 1);
  Numbered second(0, 2);
  EXPECT_EQ(processor_.changes(), 0U);
  processor_.post(&first);
  processor_.post(&second);
  EXPECT_EQ(processor_.changes(), 1U);
  EXPECT_EQ(pop(), 1);
  processor_.hand_on();
  EXPECT_EQ(processor_.changes(), 1U);
  EXPECT_EQ(pop(), 2);
  EXPECT_FALSE(processor_.release());
  EXPECT_EQ(processor_.changes(), 2U);
}

TEST_F(ProcessorTest, HigherPrioritiesGoFirstOldestFirstAmongEquals) {
  std::deque<Numbered> all;
  int number = 0;
  for (const int priority : {0, 100, -5, 0, 7, 100, -5}) all.emplace_back(priority, number++);
  for (Numbered& each : all) processor_.post(&each);
  for (const int expected : {1, 5, 4, 0, 3, 2, 6, -1}) EXPECT_EQ(pop(), expected);
}

// Such as a deadline.
TEST_F(ProcessorTest, TasksMayHaveAPriorityEach) {
  constexpr int count = 300'000;
  std::deque<Numbered> all;
  for (int i = 0; i < count; ++i) {
    const int priority = i % 2 == 0 ? i : -i;
    processor_.post(&all.emplace_back(priority, i));
    ASSERT_EQ(pop(), i);  // at once, where it would take an hour with all that came before it
  }
  EXPECT_FALSE(processor_.has_work());
}

TEST_F(ProcessorTest, WhatIsPutBackIsNextAgain) {
  std::deque<Numbered> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(0, i);
  for (Numbered& each : all) processor_.post(&each);
  for (int i = 0; i < 3; ++i) {
    Runnable* const runnable = processor_.pop();
    processor_.unpop(runnable);
    EXPECT_EQ(pop(), i);
  }
  processor_.unpop(&all[0]);  // into an empty queue
  EXPECT_EQ(pop(), 0);
}

TEST_F(ProcessorTest, AWorkerThatLetsGoOfWorkHandsItOn) {
  Numbered first(0, 1);
  Numbered second(0, 2);
  processor_.post(&first);
  EXPECT_EQ(engine_.take(), &processor_);
  EXPECT_EQ(pop(), 1);
  processor_.hand_on();
  EXPECT_EQ(engine_.take(), nullptr);  // nothing to hand on
  processor_.post(&first);
  processor_.post(&second);
  EXPECT_EQ(engine_.take(), &processor_);
  EXPECT_EQ(pop(), 1);
  processor_.hand_on();
  EXPECT_EQ(engine_.take(), &processor_);
  EXPECT_EQ(pop(), 2);
}

// Producers and holders race: everything is taken once, by one holder at a time.
TEST_F(ProcessorTest, NothingIsLostWhenProducersAndHoldersRace) {
  constexpr int producers = 2;
  const int each = static_cast<int>(test::scaled(40'000));
  std::vector<std::deque<Numbered>> runnables(producers);
  for (auto& list : runnables) {
    for (int i = 0; i < each; ++i) list.emplace_back(i % 3, i);
  }
  std::atomic<int> taken{0};
  std::atomic<int> holders{0};
  std::atomic<bool> overlap{false};
  const auto hold = [&] {
    while (taken.load() < producers * each) {
      Processor* const processor = engine_.take();
      if (processor == nullptr) {
        std::this_thread::yield();
        continue;
      }
      if (++holders != 1) overlap = true;
      for (int i = 0;; ++i) {
        Runnable* const runnable = processor->pop();
        if (runnable != nullptr) {
          static_cast<Numbered*>(runnable)->taken++;
          ++taken;
          if (i % 16 != 15) continue;
          --holders;
          processor->hand_on();
          break;
        }
        --holders;
        if (!processor->release()) break;
        if (++holders != 1) overlap = true;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(hold);
  for (auto& list : runnables) {
    threads.emplace_back([&] {
      for (Numbered& runnable : list) processor_.post(&runnable);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overlap.load());
  for (const auto& list : runnables) {
    for (const Numbered& runnable : list) ASSERT_EQ(runnable.taken.load(), 1);
  }
}

}  // namespace
}  // namespace stretto
