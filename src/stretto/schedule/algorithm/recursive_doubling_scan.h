#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Scan by recursive doubling, any size: ceil(log2 P) rounds.
///
/// Source: Hillis and Steele, "Data parallel algorithms", Communications of the ACM 29(12), 1986.
///
/// In round k rank r gives the combination of the 2^k ranks up to itself to r + 2^k, where it comes first. Every
/// partial result covers a run of ranks, so that rank order is kept. P = 6; ab is a (+) b:
///
///     rank         0       1       2       3       4       5
///     start        a       b       c       d       e       f
///     round 0 +1   a       ab      bc      cd      de      ef
///     round 1 +2   a       ab      abc     abcd    bcde    cdef
///     round 2 +4   a       ab      abc     abcd    abcde   abcdef
class RecursiveDoublingScan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "recursive_doubling_scan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::scan; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank) const override { return shape.size == 1 ? 0 : 2; }
};

}  // namespace stretto::schedule
