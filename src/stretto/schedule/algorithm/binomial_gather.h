#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Gather along a binomial tree, any size: ceil(log2 P) rounds.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005; MPI libraries' choice for short blocks.
///
/// Ranks are counted from the root: v = (rank - root) mod P. In a round of distance d = 1, 2, 4, ... every v that is an
/// odd multiple of d gives all that it holds to v - d: the blocks of v to v + d - 1, two messages where these ranks go
/// on from the last to the first. P = 6, what is held:
///
///     v            0       1       2       3       4       5
///     round 0 d=1  01      -> 0    23      -> 2    45      -> 4
///     round 1 d=2  0123            -> 0            45
///     round 2 d=4  all                             -> 0
class BinomialGather final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "binomial_gather"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::gather; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
