#include "stretto/base/claim_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

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

// Of any length, from and to any place in a line.
TEST(ClaimLine, WhatIsCopiedStaysAsItIs) {
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 511U, 512U, 513U, 5000U}) {
    for (std::size_t from = 0; from < 66; from += 13) {
      for (std::size_t to = 0; to < 66; to += 11) {
        std::vector<std::byte> source(bytes + 128);
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251 + 1);
        const std::vector<std::byte> as_it_was = source;
        std::vector<std::byte> copy(bytes + 128);
        std::vector<std::byte> expected = copy;
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        copy_and_claim(copy.data() + to, ByteSpan(source).subspan(from, bytes));
        EXPECT_EQ(copy, expected) << bytes << " bytes from " << from << " to " << to;
        EXPECT_EQ(source, as_it_was);
      }
    }
  }
}

}  // namespace
}  // namespace stretto
