#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce in two rounds, any size: each rank combines one block of all inputs, and gives it to the root.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on reduce (long messages): reduce-scatter, then gather; here each with all messages at once. Its use
/// and its first round are those of direct_allreduce.h. P = 3, root 1; R2 is A2 (+) B2 (+) C2:
///
///     rank         0              1              2
///     start        A0 A1 A2       B0 B1 B2       C0 C1 C2
///     round 0      R0 <- 1, 2     R1 <- 0, 2     R2 <- 0, 1
///     round 1      -> 1           all <- 2, 0    -> 1
class DirectReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "direct_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce; }
  Blocking blocking(const Shape& shape) const override { return {.unit = shape.size}; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 1 : 2; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
