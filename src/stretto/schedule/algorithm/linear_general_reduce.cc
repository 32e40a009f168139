#include "stretto/schedule/algorithm/linear_general_reduce.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// Who takes all inputs.
Rank taker(const Shape& shape) { return shape.inner_receivers > 0 ? 0 : shape.contributors; }

/// Who does not contribute takes the first input where it wants the result. Small inputs of all may land at once.
void take(const Shape& shape, Rank me, Sink& sink) {
  if (shape.reproducible && me == 0) return combine_in_rank_order(sink, shape, me, 0, output());
  me == 0 ? sink.copy(input(), output()) : sink.receive(0, output());
  for (Rank rank = 1; rank < shape.contributors; ++rank) {
    sink.receive(rank, scratch(rank - 1));
    sink.reduce(scratch(rank - 1), output(), Order::destination_first);
  }
}

}  // namespace

std::string_view LinearGeneralReduce::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

// In the canonical tree only by who contributes.
bool LinearGeneralReduce::is_canonical(const Shape& shape) const {
  return shape.inner_receivers > 0 || shape.contributors <= 2;
}

std::uint32_t LinearGeneralReduce::rounds(const Shape&) const { return 2; }

void LinearGeneralReduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank one = taker(shape);
  if (round == 0) {
    if (me == one) return take(shape, me, sink);
    if (me < shape.contributors) sink.send(one, input());
  } else if (me != one) {
    if (is_receiver(shape, me)) sink.receive(one, output());
  } else {
    for (Rank rank = 0; rank < shape.size; ++rank) {
      if (rank != one && is_receiver(shape, rank)) sink.send(rank, output());
    }
  }
}

std::uint32_t LinearGeneralReduce::scratch_blocks(const Shape& shape, Rank me) const {
  if (me != taker(shape)) return 0;
  return shape.reproducible && me == 0 ? rank_order_scratch(shape, shape.blocks) : shape.contributors - 1;
}

}  // namespace stretto::schedule
