#include "stretto/schedule/algorithm/binomial_reduce.h"

#include <algorithm>

#include "stretto/schedule/algorithm/binomial_tree.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// The rank in which the tree's partial results meet.
Rank top_of(const Shape& shape) { return shape.commutative ? shape.root : 0; }

/// Rounds of the tree; a root that is alone still has its copy to make.
std::uint32_t tree_rounds(const Shape& shape) { return std::max(doublings(shape.size), 1U); }

}  // namespace

std::string_view BinomialReduce::source() const noexcept {
  return "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 2.1, Fig. 1";
}

std::uint32_t BinomialReduce::rounds(const Shape& shape) const {
  return tree_rounds(shape) + (top_of(shape) == shape.root ? 0 : 1);
}

void BinomialReduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank top = top_of(shape);
  const Rank v = before(me, top, shape.size);
  // Only the root has an output to accumulate in, and a leaf has nothing to accumulate: it gives its input.
  const BlockRef partial = v == 0 && me == shape.root ? output() : is_leaf(v, shape.size) ? input() : scratch(2);

  if (round == tree_rounds(shape)) {
    if (me == top) sink.send(shape.root, partial);
    if (me == shape.root) sink.receive(top, output());
    return;
  }
  if (round == 0 && partial.buffer != Buffer::input) sink.copy(input(), partial);
  const Rank distance = Rank{1} << round;
  if (v % (2 * distance) == distance) sink.send(before(me, distance, shape.size), partial);
  if (v % (2 * distance) == 0 && distance < shape.size - v) {
    accumulate(sink, me, after(me, distance, shape.size), scratch(round % 2), partial);
  }
}

std::uint32_t BinomialReduce::scratch_blocks(const Shape& shape, Rank me) const {
  const Rank v = before(me, top_of(shape), shape.size);
  if (is_leaf(v, shape.size)) return 0;
  return me == shape.root && v == 0 ? 2 : 3;
}

}  // namespace stretto::schedule
