#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Exclusive scan by recursive doubling, any size: ceil(log2 P) rounds.
///
/// Source: Hillis and Steele, "Data parallel algorithms", Communications of the ACM 29(12), 1986; the exclusive form is
/// that of MPI libraries.
///
/// As in recursive_doubling_scan.h, but what a rank gives includes its own input, and what it keeps does not. Rank
/// order is kept. P = 6, given | kept; nobody combines what is not asked for again (-):
///
///     rank         0       1         2         3          4          5
///     start        a |     b |       c |       d |        e |        f |
///     round 0 +1   a |     ab | a    bc | b    cd | c     - | d      - | e
///     round 1 +2   a |     ab | a    - | ab    - | abc    - | bcd    - | cde
///     round 2 +4   a |     ab | a    - | ab    - | abc    - | abcd   - | abcde
class RecursiveDoublingExscan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "recursive_doubling_exscan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::exscan; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank) const override { return shape.size == 1 ? 0 : 3; }
};

}  // namespace stretto::schedule
