#include "stretto/schedule/algorithm/linear_allreduce.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearAllreduce::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

void LinearAllreduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (me != 0) {
    if (round == 0) sink.send(0, input());
    if (round == 1) sink.receive(0, output());
    return;
  }
  if (round == 0) {
    if (shape.reproducible) return combine_in_rank_order(sink, shape, me, 0, output());
    // Small inputs of all may land at once.
    sink.copy(input(), output());
    for (Rank rank = 1; rank < shape.size; ++rank) accumulate(sink, me, rank, scratch(rank - 1), output());
  } else {
    for (Rank rank = 1; rank < shape.size; ++rank) sink.send(rank, output());
  }
}

std::uint32_t LinearAllreduce::scratch_blocks(const Shape& shape, Rank me) const {
  if (me != 0) return 0;
  return shape.reproducible ? rank_order_scratch(shape, shape.blocks) : shape.size - 1;
}

}  // namespace stretto::schedule
