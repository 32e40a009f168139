#include "stretto/schedule/algorithm/linear_exscan.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearExscan::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\", for each prefix";
}

void LinearExscan::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  for (Rank peer = me + 1; peer < shape.size; ++peer) sink.send(peer, input());
  for (Rank peer = me; peer-- > 0;) {
    sink.receive(peer, scratch(peer));
    if (peer + 1 == me) {
      sink.copy(scratch(peer), output());
    } else {
      sink.reduce(scratch(peer), output(), Order::source_first);
    }
  }
}

}  // namespace stretto::schedule
