#include "stretto/schedule/algorithm/aligned_prefix.h"

namespace stretto::schedule {

void AlignedPrefix::give(Sink& sink) const {
  if (partner_ < size_ && takes_from(me_, partner_)) sink.send(partner_, round_ == 0 ? input() : scratch(2));
}

BlockRef AlignedPrefix::take(Sink& sink) const {
  // Two landing slots take turns, so that a partner who is one round ahead finds its slot free.
  const BlockRef landing = scratch(round_ % 2);
  if (!receives()) return landing;
  sink.receive(partner_, landing);
  if (is_asked_for(me_, round_ + 1)) {
    if (round_ == 0) sink.copy(input(), scratch(2));
    sink.reduce(landing, scratch(2), comes_before() ? Order::source_first : Order::destination_first);
  }
  return landing;
}

// Whether `rank` still needs its run as it is before `round`: to give it to a rank above, or to combine it to a longer
// one that it or the partners below it give. Of those partners the lowest has the most ranks above.
bool AlignedPrefix::is_asked_for(Rank rank, std::uint32_t round) const noexcept {
  Rank lowest = rank;
  for (std::uint32_t k = round; (Rank{1} << k) < size_; ++k) {
    const Rank distance = Rank{1} << k;
    if ((rank & distance) == 0 && distance < size_ - lowest) return true;
    lowest &= ~distance;
  }
  return false;
}

}  // namespace stretto::schedule
