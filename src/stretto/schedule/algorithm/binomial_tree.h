#pragma once

#include "stretto/schedule/rank.h"

namespace stretto::schedule {

/// Whether place `v` of a binomial tree of `size` places, whose top is place 0, has no child: none at distance 1, and
/// so none at all. REQUIRES: v < size.
constexpr bool is_leaf(Rank v, Rank size) noexcept { return v % 2 == 1 || v + 1 == size; }

}  // namespace stretto::schedule
