#pragma once

#include <cstdint>

namespace stretto::schedule {

struct Placement;

/// Which data that two ranks exchange who share memory are lent, that is, read where they lie if they can be: the two
/// wait for each other anyway (docs/decisions/0033, 0055).
struct LendingLimits {
  std::uint64_t most_sent;    ///< more are lent
  std::uint64_t most_copied;  ///< but where nobody combines them, no more than these
  /// In a call that is done in itself who has read them says so in a word (docs/decisions/0054), not by a message; it
  /// is taken for one, though it may be given up, or be too large for that.
  bool receipts;

  bool include(std::uint64_t bytes, bool are_combined) const noexcept {
    return bytes > most_sent && (are_combined || bytes <= most_copied);
  }
};

/// Less is lent where each rank has a core to wait on, and the call may do it (docs/decisions/0040); what nobody
/// combines is lent, and receipts are given, only there.
LendingLimits lending_limits(const Placement& placement) noexcept;

}  // namespace stretto::schedule
