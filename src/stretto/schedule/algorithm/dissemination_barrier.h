#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Barrier by dissemination, any size: ceil(log2 P) rounds of P messages without data.
///
/// Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", International Journal of Parallel
/// Programming 17(1), 1988.
///
/// In round k rank r tells r + 2^k (mod P) that it has heard from the 2^k ranks up to itself. P = 6, who is known:
///
///     rank         0            1            2            3            4            5
///     round 0 +1   50           01           12           23           34           45
///     round 1 +2   3450         4501         5012         0123         1234         2345
///     round 2 +4   all          all          all          all          all          all
class DisseminationBarrier final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "dissemination_barrier"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::barrier; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
  bool rotation_symmetric(const Shape&) const override { return true; }
};

}  // namespace stretto::schedule
