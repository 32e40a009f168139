#include "stretto/schedule/algorithm/ring_reduce_scatter.h"

#include "stretto/schedule/algorithm/ring.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view RingReduceScatter::source() const noexcept {
  return "Iakymchuk et al., \"Efficient and eventually consistent collective operations\", IPDPSW 2021, section IV.A";
}

void RingReduceScatter::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (shape.size == 1) return sink.copy(input(), output());
  const Ring ring(shape, me, 1, 0);
  ring.send_partial(sink, round);
  ring.receive_partial(sink, round);
  ring.combine(sink, round);
}

}  // namespace stretto::schedule
