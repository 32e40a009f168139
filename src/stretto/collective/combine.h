#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/base/bytes.h"

namespace stretto {

/// Bytes to be combined: by a reduce step, or (step `none` of the plan) with a further shard of this node's input. Or
/// to be copied: what a receive was granted.
struct Combine {
  std::uint32_t step;
  ByteSpan out;
  const std::byte* left;
  const std::byte* right;
  std::size_t done;
  bool is_copied = false;  ///< then `left` and `right` are null
};

}  // namespace stretto
