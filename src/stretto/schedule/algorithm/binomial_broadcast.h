#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Broadcast along a binomial tree, any size: ceil(log2 P) rounds.
///
/// Source: Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 2.1: the stages of
/// its Fig. 1 reversed; Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on broadcast (short messages).
///
/// Ranks are counted from the root: v = (rank - root) mod P. In a round of distance d = 2^(K-1), ..., 2, 1 every v that
/// is a multiple of 2d holds the vector, and sends it to v + d if that is below P. P = 6:
///
///     v            0       1       2       3       4       5
///     round 0 d=4  -> 4                            <- 0
///     round 1 d=2  -> 2            <- 0                            (4 -> 6 does not exist)
///     round 2 d=1  -> 1    <- 0    -> 3    <- 2    -> 5    <- 4
class BinomialBroadcast final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "binomial_broadcast"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::broadcast; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
