#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Allgather in ceil(log2 P) rounds, any size.
///
/// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", IEEE TPDS 8(11), 1997, on concatenation; Thakur, Rabenseifner and Gropp, IJHPCA 19(1),
/// 2005.
///
/// In round k rank r holds the 2^k contributions from its own on, and gets the next 2^k, or as many as are missing,
/// from r + 2^k. Blocks lie where they belong at once, so that nothing is rotated in the end; a run of blocks that goes
/// on from the last to the first rank's is two messages. P = 5, what is held:
///
///     rank         0        1        2        3        4
///     start        0        1        2        3        4
///     round 0      01       12       23       34       40
///     round 1      0123     1234     2340     3401     4012
///     round 2      all      all      all      all      all
class BruckAllgather final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "bruck_allgather"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allgather; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
