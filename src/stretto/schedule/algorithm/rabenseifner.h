#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce by recursive halving and doubling, any size: 2 log2 rho rounds, each rank moves twice the vector.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on all-reduce (Rabenseifner's algorithm): a reduce-scatter, then an allgather that retraces its steps.
///
/// The vector has a block for each of the core's rho = 2^floor(log2 P) ranks; other sizes fold neighbours onto the core
/// first and hand them the result last (fold.h), which makes two rounds more. In round k of the first half, place v and
/// place v xor 2^k exchange halves of the run of blocks that both hold, and each combines the half that it keeps, the
/// lower one if bit k of its place is 0. P = 4; AB1 is A1 (+) B1, R1 is ABCD1:
///
///     rank         0                1                2                3
///     start        A0 .. A3         B0 .. B3         C0 .. C3         D0 .. D3
///     round 0      AB0 AB1 <-> 1    AB2 AB3 <-> 0    CD0 CD1 <-> 3    CD2 CD3 <-> 2
///     round 1      R0 <-> 2         R2 <-> 3         R1 <-> 0         R3 <-> 1
///     round 2      R0 R1 <-> 2      R2 R3 <-> 3      R0 R1 <-> 0      R2 R3 <-> 1
///     round 3      all <-> 1        all <-> 0        all <-> 3        all <-> 2
///
/// Partial results cover runs of ranks and are combined lower ranks first, in the same tree for every block: rank order
/// is kept, and the bits do not depend on how the vector was cut.
class Rabenseifner final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "rabenseifner"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  Blocking blocking(const Shape& shape) const override;
  bool is_canonical(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
