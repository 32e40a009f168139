#include "stretto/schedule/algorithm/linear_exscan.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearExscan::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\", for each prefix";
}

namespace {

// From the rank before. Where the caller's output is its input, that is free once it is given: at once at the last
// rank.
void take_nearest(const Shape& shape, Rank me, Sink& sink) {
  if (me + 1 == shape.size) {
    sink.receive(me - 1, output());
  } else {
    sink.receive(me - 1, scratch(me - 1));
    sink.copy(scratch(me - 1), output());
  }
}

}  // namespace

void LinearExscan::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  for (Rank peer = me + 1; peer < shape.size; ++peer) sink.send(peer, input());
  if (me == 0) return;
  take_nearest(shape, me, sink);
  for (Rank peer = me - 1; peer-- > 0;) {
    sink.receive(peer, scratch(peer));
    sink.reduce(scratch(peer), output(), Order::source_first);
  }
}

}  // namespace stretto::schedule
