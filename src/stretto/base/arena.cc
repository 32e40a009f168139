#include "stretto/base/arena.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "stretto/base/error.h"
#include "stretto/base/sanitizers.h"

#ifdef STRETTO_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address), static_cast<void>(size))
#endif

namespace stretto::arena {

namespace detail {
std::byte* base = nullptr;
}

namespace {

// 64 GiB of address space, no memory until touched: 2^33 units, well below the 2^40 that a name can hold. Less where
// that is refused: by a limit, or by a tool such as valgrind.
constexpr std::size_t most_reserved = std::size_t{64} << 30U;
constexpr std::size_t least_reserved = std::size_t{1} << 30U;
constexpr std::size_t chunk_bytes = std::size_t{256} << 10U;
constexpr std::size_t class_count = detail::class_of(max_block_bytes) + 1;
constexpr std::uint32_t cache_limit = 128;
constexpr std::uint32_t batch = 64;

struct FreeBlock {
  FreeBlock* next;
};

constexpr std::size_t bytes_of_class(std::size_t index) noexcept {
  const std::size_t power = detail::least_block_bytes << (index / 2);
  return index % 2 == 0 ? power : power + power / 2;
}

// What threads share: the untouched rest of the reservation and the blocks that caches gave back.
class Central {
 public:
  Central() {
    void* memory = MAP_FAILED;
    std::size_t bytes = 2 * most_reserved;
    while (memory == MAP_FAILED && bytes > least_reserved) {
      bytes /= 2;
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (memory == MAP_FAILED) {
      throw Error(ErrorCode::out_of_resources, std::string("cannot reserve 1 GiB of address space (") +
                                                   std::strerror(errno) +
                                                   "); raise the limit on virtual memory (ulimit -v unlimited)");
    }
    detail::base = static_cast<std::byte*>(memory);
    end_ = detail::base + bytes;
    // Index 0 means "no block": the first unit is never handed out.
    next_ = detail::base + chunk_bytes;
  }

  // Moves up to `batch` blocks of a class into `head`; returns how many.
  std::uint32_t refill(std::size_t index, FreeBlock*& head) {
    const std::lock_guard lock(mutex_);
    std::uint32_t count = 0;
    while (count < batch) {
      FreeBlock* const block = free_[index] != nullptr ? pop(index) : carve(index);
      if (block == nullptr) break;
      block->next = head;
      head = block;
      ++count;
    }
    return count;
  }

  void take_back(std::size_t index, FreeBlock* first, FreeBlock* last) noexcept {
    const std::lock_guard lock(mutex_);
    last->next = free_[index];
    free_[index] = first;
  }

 private:
  FreeBlock* pop(std::size_t index) noexcept {
    FreeBlock* const block = free_[index];
    free_[index] = block->next;
    return block;
  }

  FreeBlock* carve(std::size_t index) noexcept {
    const std::size_t bytes = bytes_of_class(index);
    if (room_[index] < bytes) {
      if (next_ + chunk_bytes > end_) return nullptr;
      position_[index] = next_;
      room_[index] = chunk_bytes;
      next_ += chunk_bytes;
    }
    auto* const block = reinterpret_cast<FreeBlock*>(position_[index]);
    position_[index] += bytes;
    room_[index] -= bytes;
    return block;
  }

  std::mutex mutex_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::array<FreeBlock*, class_count> free_{};
  std::array<std::byte*, class_count> position_{};
  std::array<std::size_t, class_count> room_{};
};

Central& central() {
  static Central* const instance = new Central;  // lives as long as the process, like the heap
  return *instance;
}

std::atomic<std::ptrdiff_t> reported_in_use{0};

struct Cache {
  std::array<FreeBlock*, class_count> head{};
  std::array<std::uint32_t, class_count> count{};
  std::ptrdiff_t in_use = 0;

  ~Cache() {
    for (std::size_t index = 0; index < class_count; ++index) give_back(index, count[index]);
    report();
  }

  void report() noexcept {
    reported_in_use.fetch_add(in_use, std::memory_order_relaxed);
    in_use = 0;
  }

  void give_back(std::size_t index, std::uint32_t blocks) noexcept {
    if (blocks == 0) return;
    FreeBlock* const first = head[index];
    FreeBlock* last = first;
    for (std::uint32_t i = 1; i < blocks; ++i) last = last->next;
    head[index] = last->next;
    count[index] -= blocks;
    central().take_back(index, first, last);
  }
};

thread_local Cache cache;

}  // namespace

namespace detail {

[[gnu::hot]] void* allocate_class(std::size_t index) {
  Cache& mine = cache;
  if (mine.head[index] == nullptr) {
    mine.count[index] = central().refill(index, mine.head[index]);
    if (mine.count[index] == 0) {
      throw Error(ErrorCode::out_of_resources,
                  "no room for another block of " + std::to_string(bytes_of_class(index)) +
                      " bytes: too many tasks, waiters and messages are pending; wait for some of them");
    }
  }
  FreeBlock* const block = mine.head[index];
  ASAN_UNPOISON_MEMORY_REGION(block, bytes_of_class(index));
  mine.head[index] = block->next;
  --mine.count[index];
  ++mine.in_use;
  return block;
}

[[gnu::hot]] void release_class(void* block, std::size_t index) noexcept {
  Cache& mine = cache;
  auto* const free_block = static_cast<FreeBlock*>(block);
  free_block->next = mine.head[index];
  mine.head[index] = free_block;
  --mine.in_use;
  // The link stays readable; what a user of the dead block would touch does not.
  ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(block) + sizeof(FreeBlock),
                            bytes_of_class(index) - sizeof(FreeBlock));
  if (++mine.count[index] >= cache_limit) mine.give_back(index, batch);
}

}  // namespace detail

std::size_t blocks_in_use() noexcept {
  cache.report();
  const std::ptrdiff_t blocks = reported_in_use.load(std::memory_order_relaxed);
  return blocks < 0 ? 0 : static_cast<std::size_t>(blocks);
}

}  // namespace stretto::arena
