#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce in two rounds, any size: each rank combines one block of all inputs, and gives it to all.
///
/// Source: Rabenseifner's reduce-scatter and allgather (Thakur, Rabenseifner and Gropp, "Optimization of collective
/// communication operations in MPICH", IJHPCA 19(1), 2005), each with all messages at once. For ranks that share
/// memory, where a message costs little and all can read at the same time.
///
/// The vector has a block for each rank. B2 is block 2 of rank 1's input, R2 is A2 (+) B2 (+) C2 (+) D2. P = 4:
///
///     rank         0                    1                    2                    3
///     start        A0 A1 A2 A3          B0 B1 B2 B3          C0 C1 C2 C3          D0 D1 D2 D3
///     round 0      R0 <- 1, 2, 3        R1 <- 0, 2, 3        R2 <- 0, 1, 3        R3 <- 0, 1, 2
///     round 1      all <- 3, 2, 1       all <- 0, 3, 2       all <- 1, 0, 3       all <- 2, 1, 0
///
/// Every block is combined in rank order, and in the same brackets (rank_order.h): the bits do not depend on how the
/// vector was cut.
class DirectAllreduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "direct_allreduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  Blocking blocking(const Shape& shape) const override { return {.unit = shape.size}; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 1 : 2; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
