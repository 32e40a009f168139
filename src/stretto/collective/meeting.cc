#include "stretto/collective/meeting.h"

namespace stretto {

namespace {

// After two meetings in a row to which not all came there is none for so many calls, and for twice as many after each
// further one: who comes first has done a part of the call in vain.
constexpr std::uint32_t most_failures = 6;
constexpr std::uint32_t calls_without(std::uint32_t failures) { return failures < 2 ? 0 : 1U << (failures - 1); }

}  // namespace

// REQUIRES: nobody comes for calls before `end` any more, or whoever does is to be refused.
void Meeting::close(std::uint32_t end, fabric::Item*& released) noexcept {
  first_open_ = end;
  if (!release_before_first_open(released)) return;
  failures_ = std::min(failures_ + 1, most_failures);
  first_open_ += calls_without(failures_);
  release_before_first_open(released);
}

// Returns whether anybody waited there. Of those who have come for later ones, all are beyond these.
bool Meeting::release_before_first_open(fabric::Item*& released) noexcept {
  bool any = false;
  for (Open& open : open_) {
    if (open.come == 0 || !is_before(open.sequence, first_open_)) continue;
    any = true;
    for (const Member& member : waiting(open)) {
      member.call->next = released;
      released = member.call;
    }
    open.come = 0;
  }
  return any;
}

std::vector<Rank> Meeting::missing(std::uint32_t sequence) const {
  std::vector<Rank> missing;
  const std::lock_guard lock(mutex_);
  const Open& open = open_[sequence % most_open];
  if (open.come == 0 || open.sequence != sequence) return missing;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (!has_come(open, rank)) missing.push_back(rank);
  }
  return missing;
}

}  // namespace stretto
