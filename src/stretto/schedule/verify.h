#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/schedule.h"

namespace stretto::schedule {

/// Where a collective goes wrong, and why.
struct Violation {
  Rank rank = 0;
  std::optional<std::uint32_t> step;  ///< index into the rank's steps; none where no single step is to blame
  std::string reason;

  /// "rank 3, step 5 (send output[0] to 1 as #0): ...", without the brackets if `step` is none.
  std::string text;
};

/// Runs the schedules of all ranks symbolically, and returns the first violation found, or nothing if they are right.
///
/// Right means, for every order in which a network may deliver and ranks may run:
/// - each step touches only blocks that its rank has, waits for every earlier step that it conflicts with, be it where
///   input and output are apart or where they are in place, and is the successor of those that it waits for;
/// - each message has one send and one receive, of as many blocks, in the same round; in a round a rank's sends come
///   before its receives; a barrier's messages have no blocks;
/// - all steps complete, even where a send completes only once its receive has started, and a rank takes its receives
///   one after another as they are listed;
/// - each block of each receiver ends with each contribution it should have exactly once, in rank order if the operator
///   does not commute, and in the canonical tree if the shape is reproducible; a barrier's every rank has heard from
///   every other; all that with input and output apart and, where may_be_in_place, in place;
/// - a block is put only where a block of its length belongs, unless `equal_blocks` says that all are equally long;
/// - nothing is done in vain: no block is written twice without being read, no scratch block is left unread.
///
/// Takes time and space in proportion to the square of a rank's steps (over 64) times ranks.
/// REQUIRES: schedules[r] is meant to be rank r's.
std::optional<Violation> verify(std::span<const Schedule> schedules, const Shape& shape, bool equal_blocks = false);

/// Materialises all ranks and verifies them; also holds the algorithm to its claims of rotation symmetry and of blocks
/// of any length. Throws Error(invalid_argument) if the algorithm refuses the shape.
std::optional<Violation> verify(const Algorithm& algorithm, const Shape& shape);

}  // namespace stretto::schedule
