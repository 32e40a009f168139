#include "stretto/schedule/algorithm/linear_allgather.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearAllgather::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

void LinearAllgather::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  for (Rank distance = 1; distance < shape.size; ++distance) sink.send(after(me, distance, shape.size), input());
  sink.copy(input(), output(me));
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = before(me, distance, shape.size);
    sink.receive(peer, output(peer));
  }
}

}  // namespace stretto::schedule
