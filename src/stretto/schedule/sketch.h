#pragma once

#include <cstdint>

#include "stretto/schedule/executor_timing.h"

namespace stretto::schedule {

/// What came out of following some or all ranks.
struct Walked {
  double path = 0;
  double busy = 0;
  double turns = 0;
  std::uint64_t messages = 0;
  std::uint64_t steps = 0;  ///< that were, or would be, taken for all ranks
  bool is_exact = true;
};

/// Follows a few ranks, all of which begin each round when the last of them is through with the one that it waits for;
/// see price().
Walked walk_few(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                const LinkCosts& costs);

}  // namespace stretto::schedule
