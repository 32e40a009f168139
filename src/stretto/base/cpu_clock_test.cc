#include "stretto/base/cpu_clock.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

// Ends only if the clock goes on while the thread computes.
TEST(CpuClock, GoesOnWhileTheThreadComputesAndNeverBack) {
  const std::int64_t start = thread_cpu_nanoseconds();
  EXPECT_GE(start, 0);
  std::int64_t last = start;
  while (last == start) {
    const std::int64_t now = thread_cpu_nanoseconds();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace stretto
