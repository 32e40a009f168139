#include "stretto/fabric/segment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/mapping.h"
#include "stretto/base/page.h"
#include "stretto/base/random.h"
#include "stretto/base/sanitizers.h"
#include "stretto/base/shared_memory.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

template <class Call>
ErrorCode code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

class SegmentTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Backings, SegmentTest, testing::Bool(),
                         [](const auto& shareable) { return shareable.param ? "Shareable" : "Private"; });

TEST_P(SegmentTest, OffsetsAndAddressesBelongTogether) {
  Segment segment(16 * mebibyte, GetParam());
  const std::uint64_t a = segment.allocate(100);
  const std::uint64_t b = segment.allocate(3 * mebibyte, 4096);
  EXPECT_EQ(a % 64, 0U);
  EXPECT_EQ(b % 4096, 0U);
  EXPECT_EQ(segment.offset_of(segment.pointer(a) + 99), static_cast<std::int64_t>(a + 99));
  EXPECT_EQ(segment.offset_of(segment.pointer(b)), static_cast<std::int64_t>(b));
  int elsewhere = 0;
  EXPECT_EQ(segment.offset_of(&elsewhere), -1);
  EXPECT_EQ(segment.offset_of(segment.pointer(segment.capacity())), -1);
  EXPECT_EQ(segment.descriptor() >= 0, GetParam());
  segment.pointer(b)[3 * mebibyte - 1] = std::byte{1};
  EXPECT_GE(segment.bytes_in_use(), 100 + 3 * mebibyte);
  segment.release(a);
  segment.release(b);
  EXPECT_EQ(segment.bytes_in_use(), 0U);
}

#if !defined(STRETTO_TSAN)  // whose shadow has pages of its own
// The first calls of a job that stage something took ten times as long as later ones.
TEST(Segment, SmallMemoryForPeersIsMappedBeforeItIsTouched) {
  constexpr std::size_t page = 4096;
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  Segment segment(16 * mebibyte, true);
  std::byte* const memory = segment.pointer(segment.allocate(128 * page, page));
  if (madvise(memory, page, MADV_POPULATE_WRITE) != 0) GTEST_SKIP() << "this system does not map memory in advance";
  const long before = faults();
  for (std::size_t i = 0; i < 128; ++i) memory[i * page] = std::byte{1};
  EXPECT_LT(faults() - before, 32);
}
#endif

TEST_P(SegmentTest, ContainsOnlyWhatWasHandedOut) {
  Segment segment(64 * mebibyte, GetParam());
  EXPECT_FALSE(segment.contains(0, 1));
  const std::uint64_t offset = segment.allocate(1000);
  EXPECT_TRUE(segment.contains(offset, 1000));
  EXPECT_TRUE(segment.contains(offset, 0));
  EXPECT_FALSE(segment.contains(32 * mebibyte, 8));
  EXPECT_FALSE(segment.contains(~std::uint64_t{0}, 8));
  EXPECT_FALSE(segment.contains(8, ~std::size_t{0}));
  EXPECT_FALSE(segment.contains(~std::uint64_t{0} - 3, 8)) << "the end overflows";
}

TEST_P(SegmentTest, ExhaustionIsANamedErrorAndEndsWithARelease) {
  Segment segment(4 * mebibyte, GetParam());
  EXPECT_EQ(code_of([&] { segment.allocate(5 * mebibyte); }), ErrorCode::out_of_resources);
  std::vector<std::uint64_t> offsets;
  for (int i = 0; i < 4; ++i) offsets.push_back(segment.allocate(mebibyte));
  try {
    segment.allocate(1);
    FAIL() << "a full segment gave memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
    EXPECT_NE(error.message().find("STRETTO_SEGMENT_BYTES"), std::string::npos) << error.what();
  }
  segment.release(offsets[2]);
  EXPECT_EQ(segment.allocate(mebibyte), offsets[2]);
}

TEST_P(SegmentTest, AllOfItCanBeOneAllocation) {
  Segment segment(8 * mebibyte, GetParam());
  const std::uint64_t small = segment.allocate(64);
  segment.release(small);
  const std::uint64_t offset = segment.allocate(8 * mebibyte);
  EXPECT_TRUE(segment.contains(offset, 8 * mebibyte));
}

TEST_P(SegmentTest, WhatCannotBeTakesNothing) {
  Segment segment(64 * mebibyte, GetParam());
  segment.allocate(64);
  EXPECT_EQ(code_of([&] { segment.allocate(64 * mebibyte - 63); }), ErrorCode::out_of_resources);
  EXPECT_FALSE(segment.contains(32 * mebibyte, 8)) << "memory was taken for what cannot be";
  const std::uint64_t rest = segment.allocate(64 * mebibyte - 64);
  EXPECT_EQ(rest, 64U) << "what just fits";
  EXPECT_EQ(code_of([&] { segment.allocate(1); }), ErrorCode::out_of_resources);
}

TEST(Segment, WhatIsReleasedRestsForAWhile) {
  Segment segment(512 * mebibyte, true);
  constexpr std::size_t most_resting = 2 * mebibyte;
  segment.let_rest(most_resting);
  constexpr std::size_t bytes = mebibyte / 16;
  std::set<std::uint64_t> used;
  for (;;) {
    const std::uint64_t offset = segment.allocate(bytes);
    segment.release(offset);
    EXPECT_EQ(segment.bytes_in_use(), 0U);
    if (!used.insert(offset).second) break;
  }
  EXPECT_GE(used.size() * bytes, most_resting) << "it was used again while peers' caches had it";
  EXPECT_LE(used.size() * bytes, 2 * most_resting) << "it is never used again";
  segment.let_rest(0);
  const std::uint64_t offset = segment.allocate(bytes);
  segment.release(offset);
  EXPECT_EQ(segment.allocate(bytes), offset) << "it rests where nothing is to";
}

TEST(Segment, WhatItsOwnerHasReadLastDoesNotRest) {
  Segment segment(64 * mebibyte, true);
  segment.let_rest(2 * mebibyte);
  const std::uint64_t offset = segment.allocate(1000);
  segment.release(offset, Segment::LastRead::by_owner);
  EXPECT_EQ(segment.allocate(1000), offset);
}

TEST_P(SegmentTest, MisuseIsRefused) {
  Segment segment(4 * mebibyte, GetParam());
  EXPECT_EQ(code_of([&] { segment.release(0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { segment.allocate(8, 3); }), ErrorCode::invalid_argument);
  const std::uint64_t offset = segment.allocate(64);
  EXPECT_EQ(code_of([&] { segment.release(offset + 64); }), ErrorCode::invalid_argument);
  segment.release(offset);
  EXPECT_EQ(code_of([&] { segment.release(offset); }), ErrorCode::invalid_argument);
}

TEST_P(SegmentTest, RandomAllocationsNeverOverlapAndLeaveNothingBehind) {
  Segment segment(16 * mebibyte, GetParam());
  Random random(7);
  std::map<std::uint64_t, std::size_t> held;
  for (int i = 0; i < 5000; ++i) {
    if (random.below(5) < 3) {
      const std::size_t bytes = random.below(60'000);
      const std::size_t alignment = std::size_t{1} << random.below(13);
      std::uint64_t offset = 0;
      try {
        offset = segment.allocate(bytes, alignment);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::out_of_resources);
        continue;
      }
      ASSERT_EQ(offset % alignment, 0U);
      ASSERT_TRUE(segment.contains(offset, bytes));
      const auto next = held.lower_bound(offset);
      ASSERT_TRUE(next == held.end() || offset + bytes <= next->first);
      if (next != held.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, offset);
      }
      held.emplace(offset, std::max<std::size_t>(bytes, 1));
    } else if (!held.empty()) {
      auto victim = held.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random.below(held.size())));
      segment.release(victim->first);
      held.erase(victim);
    }
  }
  for (const auto& [offset, bytes] : held) segment.release(offset);
  EXPECT_EQ(segment.bytes_in_use(), 0U);
  EXPECT_NO_THROW(segment.allocate(16 * mebibyte)) << "free memory is not joined again";
}

TEST(Segment, APeerSeesGrowthWithoutMappingAgain) {
  Segment segment(32 * mebibyte, true);
  void* const mapped = mmap(nullptr, segment.capacity(), PROT_READ, MAP_SHARED, segment.descriptor(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t offset = segment.allocate(5 * mebibyte);
    segment.pointer(offset)[123] = static_cast<std::byte>(i + 1);
    EXPECT_EQ(static_cast<const std::byte*>(mapped)[offset + 123], static_cast<std::byte>(i + 1));
  }
  munmap(mapped, segment.capacity());
}

#if !defined(STRETTO_TSAN) && !defined(STRETTO_ASAN)  // whose shadows have pages of their own
// A peer's first touch of a page takes longer than to fill it.
TEST(Segment, APeerMapsItByHugePages) {
  constexpr std::size_t bytes = 9 * mebibyte;
  if (!has_huge_pages_to_share(5)) GTEST_SKIP() << "this system has no huge pages for shared memory";
  Segment segment(32 * mebibyte, true);
  const std::uint64_t offset = segment.allocate(bytes);
  const Mapping peer(segment.descriptor(), 0, segment.capacity(), Mapping::Access::write);
  rusage before{};
  getrusage(RUSAGE_THREAD, &before);
  for (std::size_t at = offset; at < offset + bytes; at += page_bytes()) *peer.at(at) = std::byte{1};
  rusage after{};
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 64);
  EXPECT_EQ(*segment.pointer(offset + bytes - page_bytes()), std::byte{1});
}
#endif

TEST(Segment, TooMuchAddressSpaceIsANamedError) {
  EXPECT_EQ(code_of([] { const Segment segment(std::size_t{1} << 60U, false); }), ErrorCode::out_of_resources);
  EXPECT_EQ(code_of([] { const Segment segment(~std::size_t{0}, false); }), ErrorCode::out_of_resources);
}

}  // namespace
}  // namespace stretto::fabric
