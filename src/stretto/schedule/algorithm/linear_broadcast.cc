#include "stretto/schedule/algorithm/linear_broadcast.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearBroadcast::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

void LinearBroadcast::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  if (me != shape.root) return sink.receive(shape.root, output());
  for (Rank distance = 1; distance < shape.size; ++distance) sink.send(after(me, distance, shape.size), input());
  sink.copy(input(), output());
}

}  // namespace stretto::schedule
