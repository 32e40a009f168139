#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Scatter along a binomial tree, any size: ceil(log2 P) rounds.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on broadcast of long messages, which begins with it.
///
/// The mirror of binomial_gather.h: v = (rank - root) mod P; in a round of distance d = 2^(K-1), ..., 2, 1 every v that
/// is a multiple of 2d gives v + d the blocks of v + d to v + 2d - 1. P = 6, what is held:
///
///     v            0       1       2       3       4       5
///     round 0 d=4  0123                            45 <- 0
///     round 1 d=2  01              23 <- 0         45
///     round 2 d=1  0       1 <- 0  2       3 <- 2  4       5 <- 4
class BinomialScatter final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "binomial_scatter"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::scatter; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
