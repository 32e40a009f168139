#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Exclusive scan along a chain, any size, in any number S of segments: S + P - 2 rounds.
///
/// Source: Sanders and Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006, the linear pipeline.
///
/// As chain_scan.h, but a rank keeps what it takes, and gives that with its own segment behind it. P = 4, S = 2, given
/// | kept:
///
///     rank         0           1           2            3
///     round 0      a0 |        ab0 | a0
///     round 1      a1 |        ab1 | a1    abc0 | ab0
///     round 2                              abc1 | ab1   | abc0
///     round 3                                           | abc1
class ChainExscan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "chain_exscan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::exscan; }
  Blocking blocking(const Shape&) const override { return {.most_segments = Blocking::many}; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override {
    return me == 0 || me + 1 == shape.size ? 0 : 2 * shape.blocks;
  }
};

}  // namespace stretto::schedule
