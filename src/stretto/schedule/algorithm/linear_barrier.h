#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Barrier in which all tell rank 0 that they have come, and rank 0 tells all.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear". As linear_allreduce.h, without data:
/// for ranks that take turns on few cores, each of which has to run only twice. P = 4, who has come for whom:
///
///     rank         0               1       2       3
///     round 0      <- 1, 2, 3      -> 0    -> 0    -> 0
///     round 1      -> 1, 2, 3      <- 0    <- 0    <- 0
class LinearBarrier final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_barrier"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::barrier; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 0 : 2; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
