#include "stretto/schedule/algorithm/knomial_broadcast.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

constexpr Rank radix = 4;

/// The distance of the first round: the largest power of the radix that is below the size, or 1.
Rank first_distance(Rank size) {
  Rank distance = 1;
  while (std::uint64_t{distance} * radix < size) distance *= radix;
  return distance;
}

}  // namespace

std::string_view KnomialBroadcast::source() const noexcept {
  return "the k-nomial trees of MPI libraries, for example MPICH's";
}

std::uint32_t KnomialBroadcast::rounds(const Shape& shape) const {
  return 1 + doublings(first_distance(shape.size)) / doublings(radix);
}

void KnomialBroadcast::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank distance = first_distance(shape.size) >> (doublings(radix) * round);
  const Rank v = before(me, shape.root, shape.size);
  const Rank from_parent = v % (radix * distance);
  if (from_parent == 0) {
    for (Rank i = 1; i < radix && i * distance < shape.size - v; ++i) {
      sink.send(after(me, i * distance, shape.size), v == 0 ? input() : output());
    }
  } else if (from_parent % distance == 0) {
    sink.receive(before(me, from_parent, shape.size), output());
  }
  if (v == 0 && distance == 1) sink.copy(input(), output());
}

}  // namespace stretto::schedule
