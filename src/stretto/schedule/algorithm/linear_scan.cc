#include "stretto/schedule/algorithm/linear_scan.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearScan::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\", for each prefix";
}

void LinearScan::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  for (Rank peer = me + 1; peer < shape.size; ++peer) sink.send(peer, input());
  sink.copy(input(), output());
  for (Rank peer = me; peer-- > 0;) {
    sink.receive(peer, scratch(peer));
    sink.reduce(scratch(peer), output(), Order::source_first);
  }
}

}  // namespace stretto::schedule
