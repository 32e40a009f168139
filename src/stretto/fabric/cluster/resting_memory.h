#pragma once

#include <algorithm>
#include <cstddef>

#include "stretto/fabric/occupancy.h"

namespace stretto::fabric::cluster {

/// How much of a node's released segment memory rests (Segment::let_rest): twice a core's second-level cache where each
/// node has a core, so that it has left its readers' caches. Where nodes take turns on a core, each turn clears that
/// cache, and memory that rests takes the place of others' data in the cache that all share: far less (decision 37).
constexpr std::size_t resting_bytes(const Occupancy& host, std::size_t second_level_cache_bytes) noexcept {
  const std::size_t cores = std::max(1U, host.cores);
  const std::size_t nodes_per_core = std::max<std::size_t>(1, (host.nodes + cores - 1) / cores);
  return 2 * second_level_cache_bytes / (nodes_per_core * nodes_per_core);
}

}  // namespace stretto::fabric::cluster
