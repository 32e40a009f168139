#pragma once

#include <cstdint>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/cost_table.h"

/// Collectives whose ranks are nodes of one process, and that the one who comes last does for all (decision 49).
namespace stretto::schedule {

/// No more ranks meet: who comes last does so many calls, and what it goes by is made by each.
inline constexpr Rank most_who_meet = 32;

/// Whether such a call may be done so: no rank has its result before all have begun, those who have none give so little
/// that they can leave it behind, and it takes no longer than where some work beside each other. `bytes` is as for
/// simulate(). The same at all ranks.
bool pays_jointly(const Shape& shape, std::uint64_t bytes) noexcept;

/// What it takes then: the ranks' calls one after the other, and all copies and reductions of the schedule but those of
/// data into scratch, from where a reduction takes them: it takes them from where they lie.
double joint_seconds(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Costs& costs);

}  // namespace stretto::schedule
