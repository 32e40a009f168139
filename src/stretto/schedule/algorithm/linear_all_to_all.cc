#include "stretto/schedule/algorithm/linear_all_to_all.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearAllToAll::source() const noexcept {
  return "Iakymchuk et al., \"Efficient and eventually consistent collective operations\", IPDPSW 2021, section IV.B";
}

void LinearAllToAll::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = after(me, distance, shape.size);
    sink.send(peer, input(peer));
  }
  sink.copy(input(me), output(me));
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = before(me, distance, shape.size);
    sink.receive(peer, output(peer));
  }
}

}  // namespace stretto::schedule
