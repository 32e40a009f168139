#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-to-all in one round, any size: each rank writes to all others, beginning with the next one.
///
/// Source: Iakymchuk et al., "Efficient and eventually consistent collective operations", IPDPSW 2021, section IV.B:
/// each block is put where it belongs, with its own notification. That ranks begin with different peers, so that nobody
/// is flooded, is the custom of MPI libraries. AB goes from rank A to rank B. P = 4:
///
///     rank         A               B               C               D
///     sends        AB, AC, AD      BC, BD, BA      CD, CA, CB      DA, DB, DC
///     round 0      DA, CA, BA      AB, DB, CB      BC, AC, DC      CD, BD, AD      as they arrive
class LinearAllToAll final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_all_to_all"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::all_to_all; }
  bool rotation_symmetric(const Shape&) const override { return true; }
  Lead lead(const Shape&) const override { return {.sends = Lead::all, .receives = Lead::all}; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
