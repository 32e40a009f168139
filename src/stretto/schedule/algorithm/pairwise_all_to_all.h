#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-to-all in P - 1 rounds of one message each way, any size.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on all-to-all (long messages): each network link carries one message at a time.
///
/// In round k = 1, 2, ... rank r exchanges with r xor k if P is a power of two; otherwise it sends to r + k and
/// receives from r - k (mod P). P = 4:
///
///     rank         0       1       2       3
///     round k=1    <-> 1   <-> 0   <-> 3   <-> 2
///     round k=2    <-> 2   <-> 3   <-> 0   <-> 1
///     round k=3    <-> 3   <-> 2   <-> 1   <-> 0
class PairwiseAllToAll final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "pairwise_all_to_all"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::all_to_all; }
  bool rotation_symmetric(const Shape& shape) const override;
  Lead lead(const Shape&) const override { return {.sends = Lead::all, .receives = Lead::all}; }
  std::uint32_t rounds(const Shape& shape) const override { return shape.size == 1 ? 1 : shape.size - 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
