#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Exclusive scan in which each rank takes the inputs of all before it and combines them itself: one round, any size.
///
/// Source: as linear_scan.h, without the rank's own input. Rank order is kept. P = 4:
///
///     rank         0             1            2          3
///     start        a             b            c          d
///     round 0      -> 1, 2, 3    -> 2, 3      -> 3
///     then                       a <- 0       ab <- 0, 1     abc <- 0, 1, 2
class LinearExscan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_exscan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::exscan; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 0 : 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override {
    return me > 0 && me + 1 == shape.size ? me - 1 : me;
  }
};

}  // namespace stretto::schedule
