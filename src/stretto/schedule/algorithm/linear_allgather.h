#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Allgather in which all send to all: one round, any size.
///
/// Source: the flat pattern of MPI libraries, for example Open MPI's "basic linear", with an order in which ranks begin
/// with different peers. For ranks that share memory, where all can read a contribution at the same time. P = 4:
///
///     rank         0               1               2               3
///     sends to     1, 2, 3         2, 3, 0         3, 0, 1         0, 1, 2
///     round 0      all <- 3, 2, 1  all <- 0, 3, 2  all <- 1, 0, 3  all <- 2, 1, 0
class LinearAllgather final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_allgather"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allgather; }
  bool rotation_symmetric(const Shape&) const override { return true; }
  Lead lead(const Shape&) const override { return {.sends = Lead::all, .receives = Lead::all}; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
