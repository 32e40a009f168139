#pragma once

#include <cstdint>
#include <string>

#include "stretto/schedule/schedule.h"

namespace stretto::schedule {

/// What is wrong with `step` by itself: a peer that is not another rank of the group, a block that `me` does not have,
/// a run of scratch slots beyond one vector, a write to input, a step without blocks where blocks are needed, a
/// barrier's message with some. Empty if nothing is.
std::string fault_of(const Shape& shape, Rank me, std::uint32_t scratch_blocks, const Step& step);

}  // namespace stretto::schedule
