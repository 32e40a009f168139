#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Gather in which all send their block to the root: one round, any size.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear". Each block crosses the network once,
/// so nothing is better for long blocks; for short ones the root pays for P - 1 messages. P = 4, root 1:
///
///     rank         0       1                2       3
///     round 0      -> 1    all <- 0, 2, 3   -> 1    -> 1
class LinearGather final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_gather"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::gather; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
