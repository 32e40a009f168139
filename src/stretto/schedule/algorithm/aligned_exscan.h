#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Exclusive scan in the canonical tree (canonical.h), any size: ceil(log2 P) rounds.
///
/// Source: that of aligned_scan.h; the exclusive form is that of MPI libraries.
///
/// As in aligned_scan.h, but a rank's prefix begins with what it gets first, and ends before its own input. P = 6,
/// run | prefix; nobody combines what is not asked for again (-):
///
///     rank         0         1          2         3          4           5
///     start        a |       b |        c |       d |        e |         f |
///     round 0 +1   ab |      ab | a     cd |      cd | c     - |         - | e
///     round 1 +2   abcd |    abcd | a   - | ab    - | abc    - |         - | e
///     round 2 +4   - |       - | a      - | ab    - | abc    - | abcd    - | abcde
class AlignedExscan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "aligned_exscan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::exscan; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
