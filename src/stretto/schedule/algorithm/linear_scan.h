#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Scan in which each rank takes the inputs of all before it and combines them itself: one round, any size.
///
/// Source: what the root of a flat tree does (linear_reduce.h), done by each rank for its own prefix. For short vectors
/// of ranks that take turns on few cores, since each has to run only once. Rank order is kept. P = 4:
///
///     rank         0             1            2          3
///     start        a             b            c          d
///     round 0      -> 1, 2, 3    -> 2, 3      -> 3
///     then         a             ab <- 0      abc <- 0, 1    abcd <- 0, 1, 2
class LinearScan final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_scan"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::scan; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank me) const override { return me; }
};

}  // namespace stretto::schedule
