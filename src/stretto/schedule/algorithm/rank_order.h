#pragma once

#include <algorithm>
#include <cstdint>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

/// One rank takes a block from all others that contribute and combines them in rank order: from the left, ((0 1) 2) 3,
/// or, if the shape is reproducible, in the canonical tree (canonical.h).
///
/// The inputs are received one after the other. From the left there is one partial result. In the tree a pair of inputs
/// is one, and two partial results of as many ranks become one, so that there is one for each bit of the number of
/// ranks that have joined; the rest is combined from the right in the end. For seven ranks:
///
///     joined       0 1     0 1 2     0 1 2 3     .. 4         .. 4 5      .. 6
///     partials     01      01 2      0123        0123 4       0123 45     0123 45 6
///
/// Partial results gather in a scratch slot each, but for that which has the own input: where `result` is output, where
/// that input may lie, it gathers there. Inputs that begin a partial result land in its slot, others in two landing
/// slots that take turns.
///
/// `block` is its index in the input; `result` is output or scratch(block). The others send theirs in the same round.
/// Uses slots of index `block`; see rank_order_scratch. REQUIRES: `me` contributes.
void combine_in_rank_order(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result);

/// Partial results that combine_in_rank_order has at a time, at most.
constexpr std::uint32_t rank_order_partials(const Shape& shape) noexcept {
  return shape.reproducible ? std::max(doublings(shape.size), 1U) : 1;
}

/// Scratch slots for combine_in_rank_order: a few vectors, of which it touches one block each.
constexpr std::uint32_t rank_order_scratch(const Shape& shape, std::uint32_t vector_blocks) noexcept {
  return (rank_order_partials(shape) + 2) * vector_blocks;
}

}  // namespace stretto::schedule
