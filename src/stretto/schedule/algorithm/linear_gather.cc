#include "stretto/schedule/algorithm/linear_gather.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearGather::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

void LinearGather::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  if (me != shape.root) return sink.send(shape.root, input());
  sink.copy(input(), output(me));
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = after(me, distance, shape.size);
    sink.receive(peer, output(peer));
  }
}

}  // namespace stretto::schedule
