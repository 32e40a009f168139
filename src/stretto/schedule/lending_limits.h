#pragma once

#include <cstdint>

#include "stretto/schedule/rank.h"

namespace stretto::schedule {

struct Placement;

/// How data are moved that two ranks exchange who share memory: the two wait for each other anyway. Which of them are
/// lent, that is, read where they lie if they can be (docs/decisions/0033, 0055).
struct LendingLimits {
  std::uint64_t most_sent;    ///< more are lent
  std::uint64_t most_copied;  ///< but where nobody combines them, no more than these
  /// In a call that is done in itself who has read them says so in a word (docs/decisions/0054), not by a message; it
  /// is taken for one, though it may be given up, or be too large for that.
  bool receipts;
  /// What two ranks stage for each other passes through staging memory that they write by turns
  /// (docs/decisions/0057): not where a turn may have to wait for a core.
  bool turns;
  /// Of what one rank alone reads in memory that is not shared: more is read in its owner's process, where that may be
  /// (docs/decisions/0068).
  std::uint64_t most_staged;

  bool include(std::uint64_t bytes, bool are_combined) const noexcept {
    return bytes > most_sent && (are_combined || bytes <= most_copied);
  }
};

/// Calls with a block for each rank and no more in one buffer may be done in themselves (docs/decisions/0040).
inline constexpr std::uint64_t most_in_one_go = std::uint64_t{128} << 10U;
/// The same of two ranks, where nobody combines (docs/decisions/0079, 0080).
inline constexpr std::uint64_t most_of_two_in_one_go = std::uint64_t{512} << 10U;

/// Of a group of so many ranks. Less is lent where each has a core to wait on, and the call may do it; what nobody
/// combines is lent, and receipts are given, only there. REQUIRES: size > 0.
LendingLimits lending_limits(const Placement& placement, Rank size) noexcept;

}  // namespace stretto::schedule
