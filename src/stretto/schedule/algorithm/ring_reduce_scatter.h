#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce-scatter around a ring, any size: P - 1 rounds, in each of which every rank moves one block to the next rank.
///
/// Source: Iakymchuk et al., "Efficient and eventually consistent collective operations", IPDPSW 2021, section IV.A,
/// Fig. 4: the first half of ring_allreduce.h, which has the worked table; here with P = 3:
///
///     rank         0           1           2
///     start        A0 A1 A2    B0 B1 B2    C0 C1 C2
///     round 0      CA1 <- 2    AB2 <- 0    BC0 <- 1
///     round 1      R0 <- 2     R1 <- 0     R2 <- 1
///
/// Each block's terms begin with another rank, so the operator must commute.
class RingReduceScatter final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "ring_reduce_scatter"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce_scatter; }
  bool needs_commutative() const noexcept override { return true; }
  bool rotation_symmetric(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 1 : shape.size - 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank) const override { return shape.size == 1 ? 0 : shape.size; }
};

}  // namespace stretto::schedule
