#include "stretto/schedule/algorithm/linear_reduce.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearReduce::source() const noexcept {
  return "the flat tree of MPI libraries, for example Open MPI's \"basic linear\"";
}

void LinearReduce::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  if (me != shape.root) return sink.send(shape.root, input());
  combine_in_rank_order(sink, shape, me, 0, output());
}

std::uint32_t LinearReduce::scratch_blocks(const Shape& shape, Rank me) const {
  return me == shape.root ? rank_order_scratch(shape, shape.blocks) : 0;
}

}  // namespace stretto::schedule
