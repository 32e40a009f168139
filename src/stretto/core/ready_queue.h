#pragma once

#include <atomic>
#include <cstdint>

#include "stretto/core/processor.h"

namespace stretto {

/// Processors in the order in which they became ready. Intrusive: a processor is in one list at a time.
struct ReadyList {
  Processor* first = nullptr;
  Processor* last = nullptr;

  void push(Processor& processor) noexcept {
    processor.next_ready = nullptr;
    (first == nullptr ? first : last->next_ready) = &processor;
    last = &processor;
  }
  Processor* pop() noexcept {
    Processor* const processor = first;
    if (processor != nullptr) first = processor->next_ready;
    return processor;
  }
};

/// What somebody who looks for work now and then has seen of another one's ReadyQueue: whether its owner comes to it.
class Neglect {
 public:
  /// Of a queue that is not empty, from which so many were `taken` in all: whether what has lain there longest was seen
  /// more than `seconds` ago. However short each search is, and whatever was done in between.
  bool look(std::uint32_t taken, double now, double seconds) noexcept {
    if (noticed_ && taken_ == taken) return now - since_ > seconds;
    noticed_ = true;
    taken_ = taken;
    since_ = now;
    return false;
  }

 private:
  bool noticed_ = false;
  std::uint32_t taken_ = 0;
  double since_ = 0;
};

/// What one worker made ready and means to take itself; others take from it when it does not come to it. Any thread.
class ReadyQueue {
 public:
  void push(Processor& processor) noexcept {
    lock();
    list_.push(processor);
    // Sequentially consistent with whoever falls asleep: either it sees this, or the pusher sees it asleep.
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    unlock();
  }

  /// The oldest, or null.
  Processor* pop() noexcept {
    if (size() == 0) return nullptr;
    lock();
    Processor* const processor = list_.pop();
    if (processor != nullptr) {
      size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
      taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    unlock();
    return processor;
  }

  std::uint32_t size() const noexcept { return size_.load(std::memory_order_seq_cst); }
  /// How many were ever taken: whether it changes tells others whether the worker comes to it.
  std::uint32_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }

 private:
  // Held for a few instructions only.
  void lock() noexcept {
    while (locked_.exchange(true, std::memory_order_acquire)) {
      while (locked_.load(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

  alignas(64) std::atomic<bool> locked_{false};
  std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint32_t> taken_{0};
  ReadyList list_;
};

}  // namespace stretto
