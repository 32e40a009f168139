#pragma once

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

/// What a rank does in a round of aligned_scan.h and aligned_exscan.h. Its run is the 2^round ranks from a multiple of
/// 2^round on that it is one of; `run` is where that is combined, scratch(2) but for the first round.
class AlignedPrefix {
 public:
  /// REQUIRES: 2^round < size.
  AlignedPrefix(Rank size, Rank me, std::uint32_t round) noexcept
      : size_(size), me_(me), round_(round), partner_(me ^ (Rank{1} << round)) {}

  /// Whether the partner's run comes before this rank's, and so into its prefix.
  bool comes_before() const noexcept { return partner_ < me_; }
  /// Whether the rank gets its partner's run.
  bool receives() const noexcept { return takes_from(partner_, me_); }

  /// Gives the own run to the partner if that has a use for it.
  void give(Sink& sink) const;
  /// Receives the partner's run, and combines it with the own one if that is asked for again; nothing if none comes.
  /// Returns where it is, for the prefix.
  BlockRef take(Sink& sink) const;

  static constexpr std::uint32_t scratch_blocks = 3;

 private:
  bool takes_from(Rank from, Rank to) const noexcept {
    return from < size_ && (from < to || is_asked_for(to, round_ + 1));
  }
  bool is_asked_for(Rank rank, std::uint32_t round) const noexcept;

  Rank size_;
  Rank me_;
  std::uint32_t round_;
  Rank partner_;
};

}  // namespace stretto::schedule
