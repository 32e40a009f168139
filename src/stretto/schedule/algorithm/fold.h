#pragma once

#include <bit>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// Folds a group of any size P onto a core of rho = 2^floor(log2 P) ranks, for algorithms that need a power of two.
///
/// The P - rho ranks that are left out each give their data to a core rank before the core's rounds (fold), and get
/// the result from it after them (unfold). Two ways to pair them, here for P = 6, rho = 4:
///
///     distant     4 -> 0, 5 -> 1            core place 0 1 2 3 = rank 0 1 2 3
///     neighbour   1 -> 0, 3 -> 2            core place 0 1 2 3 = rank 0 2 4 5
///
/// `distant` is the rule of Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 2.1:
/// rank X not below rho sends to X - rho. `neighbour` keeps what a place covers a run of neighbouring ranks, and so
/// operands in rank order and blocks contiguous: Thakur, Rabenseifner and Gropp, "Optimization of collective
/// communication operations in MPICH", IJHPCA 19(1), 2005, on all-reduce.
class Fold {
 public:
  enum class Pairing : std::uint8_t { distant, neighbour };

  /// REQUIRES: size > 0.
  constexpr Fold(Rank size, Pairing pairing) noexcept
      : core_(std::bit_floor(size)), left_out_(size - core_), pairing_(pairing) {}

  constexpr Rank core_size() const noexcept { return core_; }
  constexpr std::uint32_t core_rounds() const noexcept { return static_cast<std::uint32_t>(std::countr_zero(core_)); }
  constexpr bool is_needed() const noexcept { return left_out_ > 0; }

  /// Whether a butterfly over the places combines in the canonical tree (canonical.h) where neighbours are paired: the
  /// size's digits are ones, then zeros. 1 to 4, 6 to 8, 12, 14 to 16, 24, ...
  constexpr bool is_aligned() const noexcept {
    const Rank size = core_ + left_out_;
    return std::has_single_bit(std::uint64_t{size} + (size & (~size + 1)));
  }
  /// Whether `me` waits outside while the core works.
  constexpr bool is_left_out(Rank me) const noexcept {
    return pairing_ == Pairing::distant ? me >= core_ : me < 2 * left_out_ && me % 2 == 1;
  }
  /// Whether a rank of the core has one outside to serve. REQUIRES: !is_left_out(me).
  constexpr bool has_partner(Rank me) const noexcept {
    return pairing_ == Pairing::distant ? me < left_out_ : me < 2 * left_out_;
  }
  /// The other rank of the pair. REQUIRES: is_left_out(me) || has_partner(me).
  constexpr Rank partner(Rank me) const noexcept {
    if (pairing_ == Pairing::neighbour) return me ^ 1U;
    return me >= core_ ? me - core_ : me + core_;
  }
  /// A core rank's place in the core, 0 to core_size() - 1. REQUIRES: !is_left_out(me).
  constexpr Rank place(Rank me) const noexcept {
    if (pairing_ == Pairing::distant) return me;
    return me < 2 * left_out_ ? me / 2 : me - left_out_;
  }
  /// The rank at `place` of the core; also accepts core_size() when neighbours are paired: the group's size.
  constexpr Rank rank_at(Rank place) const noexcept {
    if (pairing_ == Pairing::distant) return place;
    return place < left_out_ ? 2 * place : place + left_out_;
  }

 private:
  Rank core_;
  Rank left_out_;
  Pairing pairing_;
};

}  // namespace stretto::schedule
