#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace stretto::arena {

/// Blocks of memory that have a 40-bit name as well as an address.
///
/// An event's slot packs a generation and the head of its list of waiters into one 64-bit word, and a
/// pointer does not fit beside 24 bits of generation. All blocks therefore live in one large reservation of
/// address space, made at first use, and a block's *index* is its distance from the start in units of 8 bytes.
/// Like the heap, the arena belongs to the process, and every function may be called by any thread. Each
/// thread keeps a small cache, so that the common path takes no lock.

inline constexpr std::size_t unit = 8;
inline constexpr std::size_t max_block_bytes = 64 * 1024;

/// Blocks handed out and not yet released, for tests that look for leaks. Counts only what thread caches have
/// already reported when other threads run.
std::size_t blocks_in_use() noexcept;

namespace detail {

extern std::byte* base;

inline constexpr std::size_t least_block_bytes = 32;

/// Blocks come in sizes of 32, 48, 64, 96, ... 64 KiB, two to each power of two: the place of the one for `bytes`.
constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= least_block_bytes) return 0;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1) - 1);  // 2^power < bytes <= 2^(power+1)
  const std::size_t half = (std::size_t{3} << power) / 2;
  return 2 * (power - 5) + (bytes <= half ? 1U : 2U);
}

void* allocate_class(std::size_t index);
void release_class(void* block, std::size_t index) noexcept;

}  // namespace detail

/// At least `bytes` bytes aligned to 16. Throws Error(out_of_resources) when the reservation is used up.
/// REQUIRES: 0 < bytes <= max_block_bytes.
inline void* allocate(std::size_t bytes) { return detail::allocate_class(detail::class_of(bytes)); }

/// Takes back a block. REQUIRES: `bytes` is what was asked for.
inline void release(void* block, std::size_t bytes) noexcept { detail::release_class(block, detail::class_of(bytes)); }

inline std::uint64_t index_of(const void* address) noexcept {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - detail::base) / unit;
}

inline void* address_of(std::uint64_t index) noexcept { return detail::base + index * unit; }

template <class T, class... Args>
T* make(Args&&... args) {
  static_assert(sizeof(T) <= max_block_bytes && alignof(T) <= 16);
  void* const block = allocate(sizeof(T));
  try {
    return ::new (block) T(std::forward<Args>(args)...);
  } catch (...) {
    release(block, sizeof(T));
    throw;
  }
}

template <class T>
void destroy(T* object) noexcept {
  std::destroy_at(object);
  release(object, sizeof(T));
}

struct Destroy {
  template <class T>
  void operator()(T* object) const noexcept {
    destroy(object);
  }
};

/// An object that goes back to the arena with its owner.
template <class T>
using Owned = std::unique_ptr<T, Destroy>;

template <class T, class... Args>
Owned<T> make_owned(Args&&... args) {
  return Owned<T>(make<T>(std::forward<Args>(args)...));
}

}  // namespace stretto::arena
