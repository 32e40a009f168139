#include "stretto/schedule/algorithm/ring_allreduce.h"

#include <algorithm>
#include <limits>

#include "stretto/schedule/algorithm/ring.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view RingAllreduce::source() const noexcept {
  return "Iakymchuk et al., \"Efficient and eventually consistent collective operations\", IPDPSW 2021, section IV.A";
}

Blocking RingAllreduce::blocking(const Shape& shape) const {
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max() / shape.size;
  return {.unit = shape.size, .most_segments = std::min(most, Blocking::many)};
}

void RingAllreduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (shape.size == 1) return sink.copy(input(0, shape.blocks), output(0, shape.blocks));
  const std::uint32_t segments = shape.blocks / shape.size;
  const std::uint32_t half = shape.size - 1;
  if (round < half) {
    ring_reduce_scatter(sink, shape, me, round, segments, me * segments);
  } else {
    ring_allgather(sink, shape, me, round - half, segments);
  }
}

}  // namespace stretto::schedule
