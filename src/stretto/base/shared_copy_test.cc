#include "stretto/base/shared_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "stretto/base/random.h"

namespace stretto {
namespace {

constexpr std::size_t bytes = std::size_t{64} << 10U;
constexpr std::uint64_t fast = bytes / 8;  // 20 GB/s where there are 2.6 ticks in a nanosecond
constexpr std::uint64_t slow = bytes;

TEST(SharedCopy, CopiesExactlyInEachWay) {
  Random random(11);
  SharedCopy shared;
  const std::function<void(std::byte*, ConstByteSpan)> ways[] = {
      detail::copy_past_caches, [&shared](std::byte* to, ConstByteSpan from) { shared.copy(to, from); }};
  for (const auto& copy : ways) {
    for (std::size_t size = 0; size < 100'000; size += size < 300 ? 1 : random.below(3000)) {
      std::vector<std::byte> from(100 + size);
      for (std::byte& byte : from) byte = static_cast<std::byte>(random());
      const ConstByteSpan source = ConstByteSpan(from).subspan(random.below(100), size);
      std::vector<std::byte> to(size + 200, std::byte{7});
      std::vector<std::byte> expected = to;
      const std::size_t at = random.below(100);
      std::copy(source.begin(), source.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
      copy(to.data() + at, source);
      ASSERT_EQ(to, expected) << size << " bytes at " << at;
    }
  }
}

TEST(CopyChoice, GoesPastTheCachesWhereCopiesAreSlowTwice) {
  CopyChoice choice;
  EXPECT_FALSE(choice.past_caches());
  for (int i = 0; i < 3; ++i) {
    // As when the kernel takes the core for a moment.
    choice.note(bytes, 100 * slow);
    EXPECT_FALSE(choice.past_caches());
    choice.note(bytes, fast);
    EXPECT_FALSE(choice.past_caches());
  }
  choice.note(bytes, slow);
  choice.note(bytes, slow);
  EXPECT_TRUE(choice.past_caches());
}

TEST(CopyChoice, ComesBackWhenATrialIsFast) {
  CopyChoice choice;
  choice.note(bytes, slow);
  choice.note(bytes, slow);
  int trials = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!choice.tries_again()) continue;
    ++trials;
    choice.note(CopyChoice::trial_bytes, slow * CopyChoice::trial_bytes / bytes);
    EXPECT_TRUE(choice.past_caches());
  }
  EXPECT_GT(trials, 10);
  EXPECT_LT(trials, 100);
  choice.note(CopyChoice::trial_bytes, fast * CopyChoice::trial_bytes / bytes);
  EXPECT_FALSE(choice.past_caches());
}

TEST(SharedCopy, IsNowAndThenMadeWhereItCouldBeLeftOut) {
  SharedCopy copy;
  int made = 0;
  for (int i = 0; i < 1000; ++i) made += !copy.goes_without();
  EXPECT_GT(made, 10);
  EXPECT_LT(made, 100);
}

}  // namespace
}  // namespace stretto
