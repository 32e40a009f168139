#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce around a ring, any size: 2 (P - 1) turns, in each of which every rank moves a P-th of the vector.
///
/// Source: Iakymchuk et al., "Efficient and eventually consistent collective operations", IPDPSW 2021, section IV.A,
/// Figs. 4 and 5: scatter-reduce, then allgather, each rank going on as soon as it has what it needs, without a barrier
/// between.
///
/// The vector has any number of segments for each rank, and a turn has a round for each: a segment is combined while
/// the next one travels. Here the sum of rank r's block ends at r (in the paper at r - 1). B2 is block 2 of rank 1's
/// input, R2 the sum over all ranks. P = 4, one segment:
///
///     rank         0           1           2           3
///     start        A0 .. A3    B0 .. B3    C0 .. C3    D0 .. D3
///     round 0      DA2 <- 3    AB3 <- 0    BC0 <- 1    CD1 <- 2
///     round 1      CDA1 <- 3   DAB2 <- 0   ABC3 <- 1   BCD0 <- 2
///     round 2      R0 <- 3     R1 <- 0     R2 <- 1     R3 <- 2
///     round 3      R3 <- 3     R0 <- 0     R1 <- 1     R2 <- 2
///     round 4      R2 <- 3     R3 <- 0     R0 <- 1     R1 <- 2
///     round 5      R1 <- 3     R2 <- 0     R3 <- 1     R0 <- 2
///
/// Each block's terms begin with another rank, so the operator must commute, and the bits depend on how the vector is
/// cut.
class RingAllreduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "ring_allreduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  Blocking blocking(const Shape& shape) const override;
  bool needs_commutative() const noexcept override { return true; }
  bool rotation_symmetric(const Shape&) const override { return true; }
  Lead lead(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank) const override { return shape.size == 1 ? 0 : shape.blocks; }
};

}  // namespace stretto::schedule
