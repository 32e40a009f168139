#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Broadcast in which the root sends to all: one round, any size.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear". For ranks that share memory, where
/// all can read the root's data at the same time, and for ranks that take turns on few cores. P = 4, root 1:
///
///     rank         0       1             2       3
///     round 0      <- 1    -> 2, 3, 0    <- 1    <- 1
class LinearBroadcast final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_broadcast"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::broadcast; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
