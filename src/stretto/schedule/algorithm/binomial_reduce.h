#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce along a binomial tree, any size: ceil(log2 P) rounds, one more to keep rank order towards a root not rank 0.
///
/// Source: Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 2.1, Fig. 1; Thakur,
/// Rabenseifner and Gropp, IJHPCA 19(1), 2005, on reduce (short messages).
///
/// Ranks are counted from the tree's top: v = (rank - top) mod P. In a round of distance d = 1, 2, 4, ... every v that
/// is an odd multiple of d sends its partial result to v - d and is done. P = 6; ab is a (+) b:
///
///     v            0           1       2        3       4        5
///     start        a           b       c        d       e        f
///     round 0 d=1  ab <- 1     -> 0    cd <- 3  -> 2    ef <- 5  -> 4
///     round 1 d=2  abcd <- 2           -> 0             (4 + 2 does not exist)
///     round 2 d=4  abcdef <- 4                          -> 0
///
/// The top is the root. An operator that does not commute needs v = rank for its order, so the top is rank 0, and a
/// last round hands the result on to the root if that is another rank. Then it is the canonical tree, for any size.
class BinomialReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "binomial_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
