#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// `count` blocks of a buffer from block `first` on, where block 0 comes after block size - 1: one run of consecutive
/// blocks, or two. For use in a range-based for loop.
class RunsOnRing {
 public:
  /// REQUIRES: first < size, 0 < count <= size.
  constexpr RunsOnRing(Buffer buffer, std::uint32_t first, std::uint32_t count, std::uint32_t size) noexcept {
    const std::uint32_t to_end = size - first;
    if (count <= to_end) {
      runs_[size_++] = {buffer, first, count};
    } else {
      runs_[size_++] = {buffer, first, to_end};
      runs_[size_++] = {buffer, 0, count - to_end};
    }
  }

  constexpr const BlockRef* begin() const noexcept { return runs_.data(); }
  constexpr const BlockRef* end() const noexcept { return runs_.data() + size_; }

 private:
  std::array<BlockRef, 2> runs_;
  std::size_t size_ = 0;
};

}  // namespace stretto::schedule
