#pragma once

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

/// The two halves of what is done with a vector on a ring, P - 1 rounds each: reduce-scatter, then allgather. Each rank
/// owns `segments` blocks in a row, the first rank the first ones. All of an owner's segments move in the same round,
/// one message each, so that one is combined while the next one arrives.

/// Round `round` of the reduce-scatter: each rank adds its input to the partial sum of an owner's blocks that it gets
/// from the rank before it, and gives it to the next one in the round after. The sum starts behind the owner and ends
/// at it, in the output from block `result` on; on the way it lies in the scratch slots of its blocks. REQUIRES: round
/// < shape.size - 1; the operator commutes.
void ring_reduce_scatter(Sink& sink, const Shape& shape, Rank me, std::uint32_t round, std::uint32_t segments,
                         std::uint32_t result);

/// Round `round` of the allgather: each rank passes on the output blocks of the owner `round` places before it.
/// REQUIRES: round < shape.size - 1.
void ring_allgather(Sink& sink, const Shape& shape, Rank me, std::uint32_t round, std::uint32_t segments);

}  // namespace stretto::schedule
