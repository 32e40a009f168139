#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/schedule.h"

namespace stretto::schedule {

/// One rank's program as the algorithm wrote it: steps by round, without tags and dependencies.
struct Program {
  std::vector<Step> steps;
  std::vector<std::uint32_t> round_offsets;  ///< rounds + 1 offsets into `steps`
  std::uint32_t scratch_blocks = 0;
};

/// What `algorithm` tells `me` to do in all rounds.
/// Throws Error(invalid_argument) if the algorithm refuses the shape or `me` is not one of its ranks.
Program write_program(const Algorithm& algorithm, const Shape& shape, Rank me);

/// Gives each message its tag and each step its dependencies.
///
/// Dependencies follow from the blocks that steps touch: read after write, write after read, write after write. A send
/// reads its blocks until it is complete. Input and output may be the same memory, so a write to output also waits for
/// earlier readers of the input block that may lie there. A message of no blocks stands for "I have come so far": its
/// send waits for all such messages received earlier. Dependencies that another dependency already waits for are left
/// out.
Schedule assemble(const Shape& shape, Rank me, Program program);

/// write_program, then assemble. Time and space are linear in the blocks that the rank's steps touch.
Schedule materialize(const Algorithm& algorithm, const Shape& shape, Rank me);

}  // namespace stretto::schedule
