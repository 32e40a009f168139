#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "stretto/base/processor.h"
#include "stretto/fabric/cluster/host/ring_line.h"

namespace stretto::fabric::cluster {

/// How many lines of a ring its reader is done with. In the reader's memory, written by the reader alone.
struct alignas(64) ConsumedCounter {
  std::atomic<std::uint64_t> lines{0};
};

inline constexpr std::uint32_t least_ring_lines = 512;
inline constexpr std::uint32_t most_ring_lines = 1U << 20U;
/// Whether a ring for messages of any size may have so many lines: a power of two that leaves room for the largest one
/// at all times.
constexpr bool valid_ring_lines(std::uint64_t lines) noexcept {
  return std::has_single_bit(lines) && lines >= least_ring_lines && lines <= most_ring_lines;
}
/// Of a ring for who keeps up (see edge.h): 8 KiB on AMD's processors, so that those of both ways stay in the
/// first-level caches (decision 76); elsewhere room for some messages of any size (decision 80).
inline std::uint32_t short_ring_lines() noexcept { return on_amd() ? 128 : 512; }
inline constexpr std::uint32_t most_lines_given_back_at_once = 128;
/// A reader gives lines back in batches of this many, so that a small message costs no second cache line. What a reader
/// that found its ring empty has not given back yet never keeps a writer waiting.
constexpr std::uint32_t credit_batch(std::uint32_t ring_lines) noexcept {
  return std::min(ring_lines / 8, most_lines_given_back_at_once);
}
static_assert(least_ring_lines - 2 * credit_batch(least_ring_lines) > max_message_lines);

}  // namespace stretto::fabric::cluster
