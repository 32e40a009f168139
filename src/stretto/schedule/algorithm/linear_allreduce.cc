#include "stretto/schedule/algorithm/linear_allreduce.h"

#include "stretto/schedule/algorithm/canonical_order.h"
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
    combine_canonically(sink, shape, me, 0, output());
  } else {
    for (Rank rank = 1; rank < shape.size; ++rank) sink.send(rank, output());
  }
}

std::uint32_t LinearAllreduce::scratch_blocks(const Shape& shape, Rank me) const {
  return me == 0 ? canonical_scratch(shape.blocks, shape.size) : 0;
}

}  // namespace stretto::schedule
