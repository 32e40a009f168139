#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce by recursive distance doubling, any size: the butterfly.
///
/// Source: Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 2.1 (any size, its
/// Fig. 2); the construction in tasks is section I-C of the Legion all-reduce paper.
///
/// In round k of the core, place v exchanges its partial result with place v xor 2^k, and both combine the two, lower
/// place first. Sizes that are not a power of two fold onto rho = 2^floor(log2 P) first (see fold.h) and take
/// 2 + floor(log2 P) rounds. P = 6, rho = 4, commutative operator; ab is a (+) b, all six is R:
///
///     rank         0          1          2          3          4          5
///     start        a          b          c          d          e          f
///     round 0      ae <- 4    bf <- 5    c          d          -> 0       -> 1
///     round 1      aebf <-> 1 aebf <-> 0 cd <-> 3   cd <-> 2
///     round 2      R <-> 2    R <-> 3    R <-> 0    R <-> 1
///     round 3      -> 4       -> 5                             R <- 0     R <- 1
///
/// An operator that does not commute folds neighbours (1 -> 0, 3 -> 2) instead, so that every partial result covers a
/// run of ranks and R is abcdef. All ranks combine the same terms in the same order: equal bits everywhere.
class RecursiveDoubling final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "recursive_doubling"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  bool is_canonical(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
