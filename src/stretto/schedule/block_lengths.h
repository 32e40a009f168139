#pragma once

#include <cstdint>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// Bytes in runs of blocks.
class BlockLengths {
 public:
  BlockLengths(const Shape& shape, std::uint64_t bytes)
      : bytes_(bytes), blocks_(shape.blocks), each_is_whole_(!cuts_vector(shape.operation)) {}

  std::uint64_t of(const BlockRef& ref) const {
    if (each_is_whole_) return ref.count * bytes_;
    if (blocks_ == 1 || ref.count == 0) return ref.count * bytes_;
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
