#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce in which the root takes all inputs and combines them in rank order: one round, any size.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear". For ranks that take turns on few
/// cores, since each but the root has to run only once. P = 4, root 1:
///
///     rank         0       1                   2       3
///     start        a       b                   c       d
///     round 0      -> 1    abcd <- 0, 2, 3     -> 1    -> 1
class LinearReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
