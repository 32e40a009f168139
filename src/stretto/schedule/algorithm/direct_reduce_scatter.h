#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce-scatter in one round, any size: each rank takes its block of all inputs, and combines them in rank order.
///
/// Source: the pairwise exchange of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
/// operations in MPICH", IJHPCA 19(1), 2005, on reduce-scatter, with all messages at once. It is the first round of
/// direct_allreduce.h, which explains its use. P = 3; R2 is A2 (+) B2 (+) C2:
///
///     rank         0                 1                 2
///     start        A0 A1 A2          B0 B1 B2          C0 C1 C2
///     round 0      R0 <- 1, 2        R1 <- 0, 2        R2 <- 0, 1
class DirectReduceScatter final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "direct_reduce_scatter"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce_scatter; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
