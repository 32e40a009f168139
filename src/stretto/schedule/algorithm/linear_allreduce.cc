#include "stretto/schedule/algorithm/linear_allreduce.h"

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
    sink.copy(input(), output());
    for (Rank rank = 1; rank < shape.size; ++rank) accumulate(sink, me, rank, scratch(rank - 1), output());
  } else {
    for (Rank rank = 1; rank < shape.size; ++rank) sink.send(rank, output());
  }
}

}  // namespace stretto::schedule
