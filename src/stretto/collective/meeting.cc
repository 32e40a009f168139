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
  // Of those who have come for a later one, all are beyond this one.
  if (come_ == 0 || !is_before(sequence_, end)) return;
  for (const Member& member : waiting()) {
    member.call->next = released;
    released = member.call;
  }
  come_ = 0;
  failures_ = std::min(failures_ + 1, most_failures);
  first_open_ += calls_without(failures_);
}

std::vector<Rank> Meeting::missing(std::uint32_t sequence) const {
  std::vector<Rank> missing;
  const std::lock_guard lock(mutex_);
  for (Rank rank = 0; come_ > 0 && sequence == sequence_ && rank < seats_.size(); ++rank) {
    if (!has_come(rank)) missing.push_back(rank);
  }
  return missing;
}

}  // namespace stretto
