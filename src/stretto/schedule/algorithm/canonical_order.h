#pragma once

#include <cstdint>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

/// One rank takes a block from all others that contribute and combines them in the canonical tree (canonical.h).
///
/// The inputs are received in rank order. A pair of them is a partial result, and two partial results of as many ranks
/// become one, so that there is one for each bit of the number of ranks that have joined; the rest is combined from the
/// right in the end. For seven ranks:
///
///     joined       0 1     0 1 2     0 1 2 3     .. 4         .. 4 5      .. 6
///     partials     01      01 2      0123        0123 4       0123 45     0123 45 6
///
/// The partial result that has the own input, which may lie there, gathers in `result`, the others in scratch slots.
/// Inputs that are the first of a pair land in a partial result's slot, others in two landing slots that take turns.
///
/// `block` is its index in the input; `result` is output or scratch(block). The others send theirs in the same round.
/// Uses slots of index `block`; see canonical_scratch. REQUIRES: `me` contributes.
void combine_canonically(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result);

/// Scratch slots for combine_canonically of so many terms: a few vectors, of which it touches one block each.
constexpr std::uint32_t canonical_scratch(std::uint32_t vector_blocks, Rank terms) noexcept {
  return (doublings(terms) + 3) * vector_blocks;
}

}  // namespace stretto::schedule
