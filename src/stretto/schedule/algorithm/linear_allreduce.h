#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce in which rank 0 takes all inputs, combines them in rank order, and gives everybody the result.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear"; on ranks with a core each, trees are
/// better. For ranks that take turns on few cores: each has to run only twice, once to give and once to get, where a
/// butterfly makes it run once a round. P = 4:
///
///     rank         0                    1       2       3
///     start        a                    b       c       d
///     round 0      abcd <- 1, 2, 3      -> 0    -> 0    -> 0
///     round 1      -> 1, 2, 3           R <- 0  R <- 0  R <- 0
class LinearAllreduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_allreduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 1 : 2; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
