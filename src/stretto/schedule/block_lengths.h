#pragma once

#include <cstdint>
#include <limits>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// Sums and products of bytes, or of steps, or the most that can be counted where there are more.
constexpr std::uint64_t sum_of_bytes(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}
constexpr std::uint64_t times_bytes(std::uint64_t times, std::uint64_t bytes) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(times, bytes, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

/// Bytes in runs of blocks.
class BlockLengths {
 public:
  BlockLengths(const Shape& shape, std::uint64_t bytes)
      : bytes_(bytes), blocks_(shape.blocks), each_is_whole_(!cuts_vector(shape.operation)) {}

  std::uint64_t of(const BlockRef& ref) const {
    if (each_is_whole_ || blocks_ == 1 || ref.count == 0) return times_bytes(ref.count, bytes_);
    const std::uint32_t first = ref.buffer == Buffer::scratch ? ref.first % blocks_ : ref.first;
    const Piece last = cut(bytes_, blocks_, first + ref.count - 1);
    return last.first + last.count - cut(bytes_, blocks_, first).first;
  }
  bool are_equal() const { return each_is_whole_ || bytes_ % blocks_ == 0; }

 private:
  std::uint64_t bytes_;
  std::uint32_t blocks_;
  bool each_is_whole_;
};

}  // namespace stretto::schedule
