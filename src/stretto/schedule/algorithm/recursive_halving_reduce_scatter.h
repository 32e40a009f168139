#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce-scatter by recursive halving, any size: log2 P rounds, or 2 + floor(log2 P) where P is no power of two.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on reduce-scatter (commutative operators, short messages); other sizes fold neighbours (fold.h).
///
/// In each round a place of the core exchanges halves of what it still holds with the place at half the distance of the
/// round before, and combines the half that its own block is in. P = 4; AC1 is A1 (+) C1, R1 the sum over all ranks:
///
///     rank         0                1                2                3
///     start        A0 .. A3         B0 .. B3         C0 .. C3         D0 .. D3
///     round 0      AC0 AC1 <-> 2    BD0 BD1 <-> 3    AC2 AC3 <-> 0    BD2 BD3 <-> 1
///     round 1      R0 <-> 1         R1 <-> 0         R2 <-> 3         R3 <-> 2
///
/// Partial results cover ranks that are not neighbours, so the operator must commute.
class RecursiveHalvingReduceScatter final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "recursive_halving_reduce_scatter"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce_scatter; }
  bool needs_commutative() const noexcept override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
