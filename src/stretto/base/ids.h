#pragma once

#include <cstdint>

namespace stretto {

/// A node's number in its job: 0 to size - 1, at most 65,535. Never reused, not even after a node died.
using NodeId = std::uint32_t;

/// The largest number of nodes in a job (handles keep 16 bits for the node).
inline constexpr std::uint32_t max_nodes = 1U << 16U;

}  // namespace stretto
