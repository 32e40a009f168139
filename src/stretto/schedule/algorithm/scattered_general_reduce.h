#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce from any participants to any receivers in two rounds, for long vectors: each participant combines one block
/// of all inputs, and gives it to every receiver.
///
/// Source: the question is that of Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008,
/// section 3.2, whose algorithm (aspen_general_reduce.h) moves the vector whole; the answer is direct_allreduce.h, made
/// general.
///
/// The vector has a block for each participant. Three participants, of which the first receives, and one other
/// receiver; R2 is A2 (+) B2 (+) C2:
///
///     rank         0                  1              2              3
///     start        A0 A1 A2           B0 B1 B2       C0 C1 C2
///     round 0      R0 <- 1, 2         R1 <- 0, 2     R2 <- 0, 1
///     round 1      -> 3, all <- 2, 1  -> 3, 0        -> 0, 3        all <- 0, 2, 1
///
/// Every block is combined in rank order (rank_order.h).
class ScatteredGeneralReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "scattered_general_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::general_reduce; }
  Blocking blocking(const Shape& shape) const override { return {.unit = shape.contributors}; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 1 : 2; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
