#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Barrier in which all tell rank 0 that they have come, and rank 0 tells all. See linear_allreduce.h for source and
/// use.
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
