#include "stretto/schedule/algorithm/binomial_scatter.h"

#include <algorithm>

#include "stretto/schedule/algorithm/binomial_tree.h"
#include "stretto/schedule/algorithm/runs.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view BinomialScatter::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on the scatter of long broadcasts";
}

void BinomialScatter::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const std::uint32_t last = rounds(shape) - 1;
  const Rank distance = Rank{1} << (last - round);
  const Rank v = before(me, shape.root, shape.size);
  if (me != shape.root && is_leaf(v, shape.size)) {
    if (v % (2 * distance) == distance) sink.receive(before(me, distance, shape.size), output());
    return;
  }
  const Buffer held = me == shape.root ? Buffer::input : Buffer::scratch;
  if (v % (2 * distance) == 0 && distance < shape.size - v) {
    const Rank child = after(me, distance, shape.size);
    const std::uint32_t count = std::min(distance, shape.size - v - distance);
    for (const BlockRef run : RunsOnRing(held, child, count, shape.size)) sink.send(child, run);
  }
  if (v % (2 * distance) == distance) {
    const std::uint32_t count = std::min(distance, shape.size - v);
    for (const BlockRef run : RunsOnRing(held, me, count, shape.size)) {
      sink.receive(before(me, distance, shape.size), run);
    }
  }
  if (round == last) sink.copy({held, me}, output());
}

std::uint32_t BinomialScatter::rounds(const Shape& shape) const {
  return std::max(doublings(shape.size), 1U);  // a root that is alone still has its copy to make
}

std::uint32_t BinomialScatter::scratch_blocks(const Shape& shape, Rank me) const {
  return me == shape.root || is_leaf(before(me, shape.root, shape.size), shape.size) ? 0 : shape.size;
}

}  // namespace stretto::schedule
