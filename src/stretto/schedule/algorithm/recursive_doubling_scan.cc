#include "stretto/schedule/algorithm/recursive_doubling_scan.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view RecursiveDoublingScan::source() const noexcept {
  return "Hillis and Steele, \"Data parallel algorithms\", Communications of the ACM 29(12), 1986";
}

std::uint32_t RecursiveDoublingScan::rounds(const Shape& shape) const {
  return std::max(doublings(shape.size), 1U);  // a rank that is alone still has its copy to make
}

void RecursiveDoublingScan::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank distance = Rank{1} << round;
  if (round == 0) sink.copy(input(), output());
  if (distance < shape.size - me) sink.send(me + distance, output());
  // Two landing slots take turns, so that a rank which is one round ahead finds its slot free.
  if (me >= distance) accumulate(sink, me, me - distance, scratch(round % 2), output());
}

}  // namespace stretto::schedule
