#pragma once

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

/// One rank takes a block from all others that contribute and combines them in rank order, ((0 + 1) + 2) + ...: the
/// canonical order, the same for every algorithm that is built on this.
///
/// The inputs are received one after the other, into two landing slots that take turns. Those of the ranks below `me`
/// gather in `result`, or, where that is output, in a scratch slot until the own input, which may lie there, has
/// joined.
///
/// `block` is its index in the input; `result` is output or scratch(block). The others send theirs in the same round.
/// Uses slots of index `block`; see rank_order_scratch. REQUIRES: `me` contributes.
void combine_in_rank_order(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result);

/// Scratch slots for combine_in_rank_order: three vectors, of which it touches one block each.
constexpr std::uint32_t rank_order_scratch(std::uint32_t vector_blocks) noexcept { return 3 * vector_blocks; }

}  // namespace stretto::schedule
