#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Broadcast along a tree of radix 4, any size: ceil(log4 P) rounds of up to three messages from each that holds the
/// vector.
///
/// Source: the k-nomial trees of MPI libraries, for example MPICH's; they generalise binomial_broadcast.h. Better than
/// that where a message's latency is much longer than what it costs its sender.
///
/// Ranks are counted from the root: v = (rank - root) mod P. In a round of distance d = 4^(K-1), ..., 4, 1 every v that
/// is a multiple of 4d sends the vector to v + d, v + 2d and v + 3d, where there are such. P = 8:
///
///     v            0             1       2       3       4          5       6       7
///     round 0 d=4  -> 4                                  <- 0
///     round 1 d=1  -> 1, 2, 3    <- 0    <- 0    <- 0    -> 5, 6, 7 <- 4    <- 4    <- 4
class KnomialBroadcast final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "knomial_broadcast"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::broadcast; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
