#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Scan along a chain, any size, in any number S of segments: S + P - 2 rounds. For long vectors: each rank takes and
/// gives them once.
///
/// Source: Sanders and Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006, the linear pipeline.
///
/// In round k rank r puts what comes from r - 1 before its own segment k + 1 - r, and gives that to r + 1 in the next
/// round. Rank order is kept. P = 4, S = 3; ab1 is segment 1 of a (+) b:
///
///     rank         0       1       2       3
///     round 0      -> 1    ab0
///     round 1      -> 1    ab1     abc0
///     round 2      -> 1    ab2     abc1    abcd0
///     round 3                      abc2    abcd1
///     round 4                              abcd2
class ChainScan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "chain_scan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::scan; }
  Blocking blocking(const Shape&) const override { return {.most_segments = Blocking::many}; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override { return me == 0 ? 0 : shape.blocks; }
};

}  // namespace stretto::schedule
