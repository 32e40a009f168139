#include "stretto/schedule/lending_limits.h"

#include <algorithm>

#include "stretto/schedule/cost_model.h"

namespace stretto::schedule {

LendingLimits lending_limits(const Placement& placement, Rank size) noexcept {
  // What is lent in one go is copied there; of more ranks operations copy as much (docs/decisions/0055).
  const std::uint64_t most_exchanged = size == 2 ? most_of_two_in_one_go : most_in_one_go;
  const std::uint64_t most_copied = std::max(most_exchanged / size, std::uint64_t{16} << 10U);
  const bool are_processes = placement.link == Link::host;
  const bool have_cores = placement.ranks_of_machine <= placement.cores_of_machine;
  if (are_processes && have_cores) return {512, most_copied, true, true, most_inline_bytes};
  return {1024, 0, false, !are_processes, are_processes ? std::uint64_t{32} << 10U : most_inline_bytes};
}

}  // namespace stretto::schedule
