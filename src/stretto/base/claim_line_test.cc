#include "stretto/base/claim_line.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace stretto {
namespace {

// Who claims may be late: what was written meanwhile stays.
TEST(ClaimLine, ChangesNothingWhileAnotherThreadWrites) {
  std::atomic<std::uint64_t> word{0};
  std::atomic<int> claims{0};
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    for (; !over; ++claims) claim_line(word);
  });
  std::uint64_t changed = 0;
  for (std::uint64_t value = 1; value < 3'000'000 || claims < 100'000; ++value) {
    word.store(value);  // is over before the next look
    changed += static_cast<std::uint64_t>(word.load(std::memory_order_acquire) != value);
  }
  over = true;
  waiter.join();
  EXPECT_EQ(changed, 0U);
}

}  // namespace
}  // namespace stretto
