#include "stretto/schedule/algorithm/linear_scatter.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearScatter::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

void LinearScatter::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  if (me != shape.root) return sink.receive(shape.root, output());
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = after(me, distance, shape.size);
    sink.send(peer, input(peer));
  }
  sink.copy(input(me), output());
}

}  // namespace stretto::schedule
