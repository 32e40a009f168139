#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce along a chain, any size, in any number S of segments: S + P - 2 rounds.
///
/// Source: the pipelined chain of MPI libraries; Pjesivac-Grbovic et al., "Performance analysis of MPI collective
/// operations", Cluster Computing 10(2), 2007. The mirror of chain_broadcast.h, for long vectors too.
///
/// Ranks are counted from the root: v = (rank - root) mod P. In round k rank v adds its input to segment k - (P - 2 -
/// v) of the partial sum that comes from v + 1, and gives it to v - 1 in the next round. The sums start at the far end,
/// so that they wrap around rank 0 unless that is the root: the operator must commute. P = 4, S = 3; cd1 is segment 1
/// of c (+) d:
///
///     v            0       1       2       3
///     round 0                      cd0     -> 2
///     round 1              bcd0    cd1     -> 2
///     round 2      abcd0   bcd1    cd2     -> 2
///     round 3      abcd1   bcd2
///     round 4      abcd2
class ChainReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "chain_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce; }
  Blocking blocking(const Shape&) const override { return {.most_segments = Blocking::many}; }
  bool needs_commutative() const noexcept override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank) const override { return shape.size == 1 ? 0 : shape.blocks; }
};

}  // namespace stretto::schedule
