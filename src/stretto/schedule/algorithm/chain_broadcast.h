#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Broadcast along a chain, any size, in any number S of segments: S + P - 2 rounds.
///
/// Source: the pipelined chain of MPI libraries; Pjesivac-Grbovic et al., "Performance analysis of MPI collective
/// operations", Cluster Computing 10(2), 2007. For long vectors: with many segments each rank is busy with all of the
/// vector, but only once.
///
/// Ranks are counted from the root: v = (rank - root) mod P. In round k rank v passes segment k - v on to v + 1. P = 4,
/// S = 3, what arrives:
///
///     v            0       1       2       3
///     round 0              0
///     round 1              1       0
///     round 2              2       1       0
///     round 3                      2       1
///     round 4                              2
class ChainBroadcast final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "chain_broadcast"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::broadcast; }
  Blocking blocking(const Shape&) const override { return {.most_segments = Blocking::many}; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
