#pragma once

#include <atomic>

namespace stretto::fabric {

/// How many there are of something, counted under a baton; any thread may ask whether there is any, as a hint.
class HintedCount {
 public:
  void add() noexcept { set(get() + 1); }
  /// REQUIRES: one was added that was not removed.
  void remove() noexcept { set(get() - 1); }
  bool any() const noexcept { return get() > 0; }

 private:
  int get() const noexcept { return count_.load(std::memory_order_relaxed); }
  void set(int count) noexcept { count_.store(count, std::memory_order_relaxed); }

  std::atomic<int> count_{0};
};

}  // namespace stretto::fabric
