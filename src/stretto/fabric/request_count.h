#pragma once

#include <atomic>
#include <cstdint>

namespace stretto::fabric {

/// How often peers in other processes were given something to do. Counted under the baton, read by any thread.
class RequestCount {
 public:
  void add() noexcept { count_.store(value() + 1, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace stretto::fabric
