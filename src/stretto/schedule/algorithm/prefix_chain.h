#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// What passes along the chain of chain_scan.h and chain_exscan.h in a round: rank r gives r + 1 its segment s in round
/// r + s.
class PrefixChain {
 public:
  static constexpr std::string_view source =
      "Sanders and Träff, \"Parallel prefix (scan) algorithms for MPI\", EuroPVM/MPI 2006, the linear pipeline";

  /// REQUIRES: shape.size > 1.
  static constexpr std::uint32_t rounds(const Shape& shape) noexcept { return shape.blocks + shape.size - 2; }

  PrefixChain(const Shape& shape, Rank me, std::uint32_t round) noexcept
      : blocks_(shape.blocks), size_(shape.size), me_(me), round_(round) {}

  /// The segment that this rank gives the next one.
  std::optional<std::uint32_t> given() const noexcept { return me_ + 1 < size_ ? segment_of(me_) : std::nullopt; }
  /// That which it takes from the one before.
  std::optional<std::uint32_t> taken() const noexcept { return me_ > 0 ? segment_of(me_ - 1) : std::nullopt; }

 private:
  std::optional<std::uint32_t> segment_of(Rank giver) const noexcept {
    if (round_ < giver || round_ - giver >= blocks_) return std::nullopt;
    return round_ - giver;
  }

  std::uint32_t blocks_;
  Rank size_;
  Rank me_;
  std::uint32_t round_;
};

}  // namespace stretto::schedule
