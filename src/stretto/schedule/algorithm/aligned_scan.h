#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Scan in the canonical tree (canonical.h), any size: ceil(log2 P) rounds.
///
/// Source: the recursive doubling of MPICH's scan, which gives the prefixes of Sklansky, "Conditional-sum addition
/// logic", IRE Transactions on Electronic Computers 9(2), 1960.
///
/// In round k rank r exchanges with r xor 2^k what its aligned run of 2^k ranks gives; the upper one also puts that
/// before its prefix. Rank order is kept. Each prefix is combined as an all-reduce of its ranks would be
/// (aligned_prefix.h). P = 6, run | prefix; nobody combines what is not asked for again (-):
///
///     rank         0         1          2         3          4           5
///     start        a | a     b | b      c | c     d | d      e | e       f | f
///     round 0 +1   ab | a    ab | ab    cd | c    cd | cd    - | e       - | ef
///     round 1 +2   abcd | a  abcd | ab  - | abc   - | abcd   - | e       - | ef
///     round 2 +4   - | a     - | ab     - | abc   - | abcd   - | abcde   - | abcdef
class AlignedScan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "aligned_scan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::scan; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
