#pragma once

#include <cstdint>

namespace stretto::schedule {

/// A member's place in its group: 0 to size - 1. The executor maps ranks to nodes; `schedule` knows no nodes.
using Rank = std::uint32_t;

/// The largest group that can be reasoned about: rank arithmetic stays within 32 bits.
inline constexpr Rank max_size = Rank{1} << 31U;

}  // namespace stretto::schedule
