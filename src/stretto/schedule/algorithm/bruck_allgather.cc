#include "stretto/schedule/algorithm/bruck_allgather.h"

#include <algorithm>

#include "stretto/schedule/algorithm/runs.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view BruckAllgather::source() const noexcept {
  return "Bruck, Ho, Kipnis, Upfal and Weathersby, \"Efficient algorithms for all-to-all communications in multiport "
         "message-passing systems\", IEEE TPDS 8(11), 1997";
}

std::uint32_t BruckAllgather::rounds(const Shape& shape) const {
  return std::max(doublings(shape.size), 1U);  // a rank that is alone still has its copy to make
}

void BruckAllgather::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank distance = Rank{1} << round;
  if (shape.size > 1) {
    const std::uint32_t count = std::min(distance, shape.size - distance);
    const Rank from = after(me, distance, shape.size);
    const Rank to = before(me, distance, shape.size);
    if (round == 0) {
      sink.send(to, input());
    } else {
      for (const BlockRef run : RunsOnRing(Buffer::output, me, count, shape.size)) sink.send(to, run);
    }
    for (const BlockRef run : RunsOnRing(Buffer::output, from, count, shape.size)) sink.receive(from, run);
  }
  if (round == 0) sink.copy(input(), output(me));
}

}  // namespace stretto::schedule
