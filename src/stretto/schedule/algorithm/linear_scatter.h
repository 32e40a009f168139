#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Scatter in which the root sends each rank its block: one round, any size.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear". The mirror of linear_gather.h, which
/// says when it is of use. P = 4, root 1:
///
///     rank         0       1             2       3
///     round 0      <- 1    -> 2, 3, 0    <- 1    <- 1
class LinearScatter final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_scatter"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::scatter; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
