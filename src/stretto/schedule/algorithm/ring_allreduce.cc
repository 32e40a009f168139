#include "stretto/schedule/algorithm/ring_allreduce.h"

#include <algorithm>
#include <limits>

#include "stretto/schedule/algorithm/ring.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

std::uint32_t segments_of(const Shape& shape) { return shape.blocks / shape.size; }

}  // namespace

std::string_view RingAllreduce::source() const noexcept {
  return "Iakymchuk et al., \"Efficient and eventually consistent collective operations\", IPDPSW 2021, section IV.A";
}

Blocking RingAllreduce::blocking(const Shape& shape) const {
  const std::uint32_t most =
      std::numeric_limits<std::uint32_t>::max() / shape.size / 2;  // rounds are counted in 32 bits
  return {.unit = shape.size, .most_segments = std::clamp(most, 1U, Blocking::many)};
}

// A segment goes on a turn after it has come, and comes again three turns later at the earliest.
Lead RingAllreduce::lead(const Shape& shape) const {
  const std::uint32_t segments = segments_of(shape);
  return {.sends = segments, .receives = 3 * segments};
}

std::uint32_t RingAllreduce::rounds(const Shape& shape) const {
  if (shape.size == 1) return 1;  // the local copy
  return 2 * (shape.size - 1) * segments_of(shape);
}

void RingAllreduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (shape.size == 1) return sink.copy(input(0, shape.blocks), output(0, shape.blocks));
  const std::uint32_t segments = segments_of(shape);
  const Ring ring(shape, me, segments, me * segments);
  const std::uint32_t half = ring.rounds();
  const bool scatters = round < half;

  if (scatters) {
    ring.send_partial(sink, round);
  } else {
    ring.send_result(sink, round - half);
  }
  // What came in the round before is asked for again a turn later: it is combined while the next segment travels.
  const bool overlaps = segments > 1;
  if (overlaps && round > 0 && round <= half) ring.combine(sink, round - 1);
  if (scatters) {
    ring.receive_partial(sink, round);
  } else {
    ring.receive_result(sink, round - half);
  }
  if (!overlaps && scatters) ring.combine(sink, round);
}

}  // namespace stretto::schedule
