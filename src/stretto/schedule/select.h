#pragma once

#include <cstdint>
#include <vector>

#include "stretto/schedule/cost_model.h"

namespace stretto::schedule {

/// What is asked of a schedule.
struct Request {
  Shape shape;               ///< blocks are free: candidates cut the vector as they see fit
  std::uint64_t bytes = 0;   ///< as for simulate(): of the vector, or of each rank's block
  bool equal_blocks = true;  ///< of operations on blocks
  Placement placement;
};

/// One way to do it.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  std::uint32_t segments = 1;  ///< see Algorithm::with_segments
  Shape shape;                 ///< with the blocks of those
  Price price;
};

/// All ways, the cheapest first (Price::cost); of equal ones those with the shortest path, then those without
/// auxiliaries, then that which is first in the registry, with fewest segments. Numbers of segments are powers of two,
/// as long as that makes it cheaper and a segment's bytes take longer than the message that carries them.
///
/// Of an all-reduce of more than two ranks that takes as long as its bytes do over wires, those that cost at most one
/// per cent more than the cheapest are ordered otherwise: first those in which a rank sends to the fewest others, of
/// these that of the fewest segments (decision 67). Of a reduce of two processes of a host likewise those that cost at
/// most five per cent more, by how many the root sends to (decision 69).
///
/// Where the shape has auxiliaries, it may be cheaper without them: such a candidate's shape has none, and the ranks
/// from its size on do nothing.
///
/// A pure function. Throws Error(invalid_argument) if no algorithm can do it.
std::vector<Candidate> rank_candidates(const Request& request, const CostTable& table);

/// The first of them.
Candidate select(const Request& request, const CostTable& table);

/// `bytes` rounded up to a multiple of an eighth of the power of two below: calls of nearly one size are served alike,
/// and a cache of choices stays small. Sizes that are such multiples, as most limits are, stay what they are.
std::uint64_t size_class(std::uint64_t bytes) noexcept;

}  // namespace stretto::schedule
