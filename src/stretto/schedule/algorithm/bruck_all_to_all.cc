#include "stretto/schedule/algorithm/bruck_all_to_all.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view BruckAllToAll::source() const noexcept {
  return "Bruck, Ho, Kipnis, Upfal and Weathersby, \"Efficient algorithms for all-to-all communications in multiport "
         "message-passing systems\", IEEE TPDS 8(11), 1997";
}

std::uint32_t BruckAllToAll::rounds(const Shape& shape) const {
  return std::max(doublings(shape.size), 1U);  // a rank that is alone still has its copy to make
}

void BruckAllToAll::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (round == 0) sink.copy(input(me), output(me));
  if (shape.size == 1) return;
  const Rank distance = Rank{1} << round;
  const std::uint32_t packed = shape.size;
  const std::uint32_t received = 2 * shape.size;

  std::uint32_t count = 0;
  for (Rank i = distance; i < shape.size; ++i) {
    if ((i & distance) == 0) continue;
    const bool has_moved = i % distance != 0;
    sink.copy(has_moved ? scratch(i) : input(after(me, i, shape.size)), scratch(packed + count++));
  }
  sink.send(after(me, distance, shape.size), scratch(packed, count));
  sink.receive(before(me, distance, shape.size), scratch(received, count));
  count = 0;
  for (Rank i = distance; i < shape.size; ++i) {
    if ((i & distance) == 0) continue;
    const bool has_arrived = i / distance == 1;
    sink.copy(scratch(received + count++), has_arrived ? output(before(me, i, shape.size)) : scratch(i));
  }
}

}  // namespace stretto::schedule
