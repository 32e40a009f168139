#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// One of several general reduces that run at once, and on which nodes, numbered in any way common to all of them.
struct PlacedReduce {
  const Algorithm* algorithm = nullptr;
  Shape shape;                       ///< of a general_reduce
  std::vector<std::uint32_t> nodes;  ///< by rank: shape.size different ones
  std::uint64_t bytes = 0;           ///< of the vector
  bool may_be_fused = true;
};

/// What the busiest nodes do, added up over the stages: in each stage the most that one node sends, or receives, as a
/// link carries both ways at once. In units of a message's fixed cost, which is taken to be that of 1 KiB; of
/// a message above most_inline_bytes, which is announced and answered first, that of three.
///
/// That is how long the reduces take together if their rounds go in step. REQUIRES: each algorithm supports its shape.
std::uint64_t load_of(std::span<const PlacedReduce> reduces);

/// Which node takes which rank: for each reduce its nodes, by rank, so that no node has much to do in one stage while
/// others idle. A pure function, so that all nodes agree without talking.
///
/// Source: Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 3.3: a greedy
/// heuristic that keeps track of the edges in and out of each node. Nodes change places only where it makes no
/// difference to the result: receivers among the participants, other participants, other receivers each among
/// themselves; participants only if the operator commutes. The paper's Fig. 6 (stage by stage; r1: all four to 0 and 2;
/// r2: 2 and 1 to 3):
///
///     stage    r1                as given      balanced
///     0        1 -> 0, 3 -> 2    r2: 1 -> 2    r2: 2 -> 1     2 and 1 each send or receive twice, or both once
///     1        0 <-> 2           r2: 2 -> 3    r2: 1 -> 3     2 sends twice, or once
///
/// The paper's text names 2 -> 1 for both: the better choice is the one that lets node 1 send and receive at the same
/// time.
///
/// The heaviest reduce comes first, among equals the first one. Of each, two ranks change nodes wherever their work
/// then falls together less with what these nodes do in the other reduces: the sum over stages of the products. What
/// does not make load_of smaller stays as given. Two sweeps. Takes time in proportion to the ranks times the rounds,
/// and to the square of the ranks up to 64 of them.
std::vector<std::vector<std::uint32_t>> balance(std::span<const PlacedReduce> reduces);

/// Which reduces travel together, as one: sets of places in the list, by their first ones. Those that may be fused and
/// have the same nodes in the same order, algorithm and shape, as long as the bytes of a set together, each reduce's
/// rounded up to 16, are at most `most_bytes`; what is longer goes alone.
std::vector<std::vector<std::size_t>> fuse(std::span<const PlacedReduce> reduces, std::uint64_t most_bytes);

}  // namespace stretto::schedule
