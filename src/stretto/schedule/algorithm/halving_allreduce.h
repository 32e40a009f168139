#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce by a hybrid of recursive halving and recursive doubling, any size: h rounds of reduce-scatter by halving,
/// recursive doubling among those who hold the same part, h rounds of allgather by doubling. That is log2 rho + h
/// rounds, rho = 2^floor(log2 P). Each rank moves 1 - 2^-h of the vector twice, and 2^-h of it log2 rho - h times: few
/// rounds with h = 0, which is recursive doubling, little data with h = log2 rho, which is Rabenseifner's algorithm.
/// The last halving of that saves no data, only work: one exchange of what two ranks hold is as much as a halving and
/// its way back.
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005, on all-reduce (Rabenseifner's algorithm); Chan, Heimlich, Purkayastha and van de Geijn, "Collective
/// communication: theory, practice, and experience", CCPE 19(13), 2007, on hybrid algorithms.
///
/// The vector has 2^h blocks; sizes that are no power of two fold neighbours onto the core of rho ranks first and hand
/// them the result last (fold.h), which makes two rounds more. In round k < h, place v and place v xor 2^k exchange
/// halves of the run of blocks that both hold, and each combines the half that it keeps, the lower one if bit k of its
/// place is 0; in the rounds after them both keep all of it; the last h retrace the first. P = 4; AB1 is A1 (+) B1, R1
/// is ABCD1. Rabenseifner's, h = 2:
///
///     rank         0                1                2                3
///     start        A0 .. A3         B0 .. B3         C0 .. C3         D0 .. D3
///     round 0      AB0 AB1 <-> 1    AB2 AB3 <-> 0    CD0 CD1 <-> 3    CD2 CD3 <-> 2
///     round 1      R0 <-> 2         R2 <-> 3         R1 <-> 0         R3 <-> 1
///     round 2      R0 R1 <-> 2      R2 R3 <-> 3      R0 R1 <-> 0      R2 R3 <-> 1
///     round 3      all <-> 1        all <-> 0        all <-> 3        all <-> 2
///
/// and with h = 1:
///
///     start        A0 A1            B0 B1            C0 C1            D0 D1
///     round 0      AB0 <-> 1        AB1 <-> 0        CD0 <-> 3        CD1 <-> 2
///     round 1      R0 <-> 2         R1 <-> 3         R0 <-> 0         R1 <-> 1
///     round 2      all <-> 1        all <-> 0        all <-> 3        all <-> 2
///
/// Partial results cover runs of ranks and are combined lower ranks first, in the same tree for every block: rank order
/// is kept, and the bits do not depend on how the vector was cut.
class HalvingAllreduce final : public Algorithm {
 public:
  static constexpr std::uint32_t all = ~std::uint32_t{0};

  /// `halvings`: h, or `all` of them; where it is not all, at least one round is left to double in.
  constexpr HalvingAllreduce(std::string_view name, std::uint32_t halvings) noexcept
      : name_(name), halvings_(halvings) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  Blocking blocking(const Shape& shape) const override;
  bool is_canonical(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;

 private:
  std::uint32_t halvings(const Shape& shape) const noexcept;

  std::string_view name_;
  std::uint32_t halvings_;
};

}  // namespace stretto::schedule
