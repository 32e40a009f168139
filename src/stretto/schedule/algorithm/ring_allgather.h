#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Allgather around a ring, any size: P - 1 rounds, each contribution crosses each link once.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on allgather (long messages).
///
/// In round k rank r passes block r - k (mod P) on to r + 1 and gets block r - k - 1 from r - 1. P = 4, what is held:
///
///     rank         0       1       2       3
///     start        0       1       2       3
///     round 0      03      10      21      32
///     round 1      032     103     210     321
///     round 2      all     all     all     all
class RingAllgather final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "ring_allgather"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allgather; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
  bool rotation_symmetric(const Shape&) const override { return true; }
};

}  // namespace stretto::schedule
