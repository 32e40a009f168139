#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Barrier by n-way dissemination, n = 3, which is of radix 4, any size: ceil(log4 P) rounds of up to 3 P messages
/// without data.
///
/// Source: Hoefler, Mehlan, Mietke and Rehm, "Fast barrier synchronization for InfiniBand", IPDPS 2006 (n-way
/// dissemination).
///
/// In round k rank r tells r + 4^k, r + 2 * 4^k and r + 3 * 4^k (mod P) that it has heard from the 4^k ranks up to
/// itself; distances from P on are left out. Fewer rounds than dissemination_barrier.h where a message's latency is
/// much longer than what it costs its sender. P = 6, who is known:
///
///     rank                  0            1            2            3            4            5
///     round 0 +1, +2, +3    3450         4501         5012         0123         1234         2345
///     round 1 +4            all          all          all          all          all          all
class FourWayDisseminationBarrier final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "four_way_dissemination_barrier"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::barrier; }
  bool rotation_symmetric(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
