#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Allgather by recursive doubling, any size: log2 P rounds, or 2 + floor(log2 P) where P is no power of two.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on allgather (short and medium messages, powers of two); other sizes fold neighbours (fold.h).
///
/// In round k of the core, place v exchanges all that it holds with place v xor 2^k: always one contiguous run of
/// blocks, since neighbours were folded. P = 6, core = ranks 0, 2, 4, 5 at places 0 to 3, what is held:
///
///     rank         0          1       2          3       4          5
///     start        0          1       2          3       4          5
///     round 0      01 <- 1    -> 0    23 <- 3    -> 2
///     round 1      0123 <-> 2         0123 <-> 0         45 <-> 5   45 <-> 4
///     round 2      all <-> 4          all <-> 5          all <-> 0  all <-> 2
///     round 3      -> 1       all     -> 3       all
class RecursiveDoublingAllgather final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "recursive_doubling_allgather"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allgather; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
