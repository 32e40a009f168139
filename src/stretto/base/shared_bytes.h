#pragma once

#include "stretto/base/bytes.h"

namespace stretto {

/// Copies `from` to `to`, for another processor to read next, which has in its caches what was there before. No
/// overlap. What is stored afterwards is seen no earlier.
///
/// To take line after line away from that processor is slow, and how slow depends on where the two are: 22 GB/s, or 4
/// (cores of an AMD Zen 3, from one minute to the next). So the lines are asked for ahead; and where that takes too
/// long, all but the beginning is written past the caches, which takes nothing away (decision 27).
void copy_to_shared(std::byte* to, ConstByteSpan from) noexcept;

namespace detail {

// The two ways, for tests.
void copy_with_lines_ahead(std::byte* to, ConstByteSpan from) noexcept;
void copy_past_caches(std::byte* to, ConstByteSpan from) noexcept;

}  // namespace detail

}  // namespace stretto
