#include "stretto/base/arena.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace stretto {
namespace {

TEST(Arena, BlocksOfEverySizeAreAlignedDistinctAndNamed) {
  const std::size_t before = arena::blocks_in_use();
  std::vector<std::pair<void*, std::size_t>> blocks;
  std::set<std::uint64_t> names;
  for (std::size_t bytes = 1; bytes <= arena::max_block_bytes; bytes += 1 + bytes / 7) {
    void* const block = arena::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U) << bytes;
    EXPECT_EQ(arena::address_of(arena::index_of(block)), block);
    EXPECT_NE(arena::index_of(block), 0U);
    EXPECT_LT(arena::index_of(block), std::uint64_t{1} << 40U);
    EXPECT_TRUE(names.insert(arena::index_of(block)).second);
    std::memset(block, 0x5a, bytes);
    blocks.emplace_back(block, bytes);
  }
  for (const auto& [block, bytes] : blocks) {
    EXPECT_EQ(static_cast<unsigned char*>(block)[bytes - 1], 0x5a);
    arena::release(block, bytes);
  }
  EXPECT_EQ(arena::blocks_in_use(), before);
}

TEST(Arena, BlocksReleasedByAnotherThreadComeBack) {
  const std::size_t before = arena::blocks_in_use();
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks(500);
    for (void*& block : blocks) block = arena::allocate(64);
    std::thread([&] {
      for (void* block : blocks) arena::release(block, 64);
    }).join();
  }
  EXPECT_EQ(arena::blocks_in_use(), before);
}

TEST(Arena, AReleasedBlockIsTheNextOfItsSize) {
  void* const first = arena::allocate(100);
  arena::release(first, 100);
  void* const second = arena::allocate(110);  // the same class of sizes
  EXPECT_EQ(first, second);
  arena::release(second, 110);
}

struct ThrowsWhenMade {
  ThrowsWhenMade() { throw 1; }
};

TEST(Arena, AConstructorThatThrowsLeaksNothing) {
  const std::size_t before = arena::blocks_in_use();
  EXPECT_THROW(arena::make<ThrowsWhenMade>(), int);
  EXPECT_EQ(arena::blocks_in_use(), before);
}

TEST(Arena, ThreadsNeverShareABlock) {
  const std::size_t before = arena::blocks_in_use();
  std::atomic<bool> torn{false};
  std::vector<std::thread> threads;
  for (unsigned char mark = 1; mark <= 4; ++mark) {
    threads.emplace_back([mark, &torn] {
      std::vector<unsigned char*> mine;
      for (int i = 0; i < 20'000; ++i) {
        if (mine.size() < 300) {
          mine.push_back(static_cast<unsigned char*>(arena::allocate(48)));
          std::memset(mine.back(), mark, 48);
        } else {
          for (unsigned char* const block : mine) {
            for (int byte = 0; byte < 48; ++byte) torn = torn || block[byte] != mark;
            arena::release(block, 48);
          }
          mine.clear();
        }
      }
      for (unsigned char* const block : mine) arena::release(block, 48);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn.load());
  EXPECT_EQ(arena::blocks_in_use(), before);
}

}  // namespace
}  // namespace stretto
