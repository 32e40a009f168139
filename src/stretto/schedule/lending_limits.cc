#include "stretto/schedule/lending_limits.h"

#include "stretto/schedule/cost_model.h"

namespace stretto::schedule {

LendingLimits lending_limits(const Placement& placement) noexcept {
  const bool have_cores = placement.link == Link::host && placement.ranks_of_machine <= placement.cores_of_machine;
  return have_cores ? LendingLimits{512, std::uint64_t{16} << 10U, true} : LendingLimits{1024, 0, false};
}

}  // namespace stretto::schedule
