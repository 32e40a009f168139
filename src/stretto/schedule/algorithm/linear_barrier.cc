#include "stretto/schedule/algorithm/linear_barrier.h"

#include "stretto/schedule/algorithm/linear_allreduce.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearBarrier::source() const noexcept { return LinearAllreduce().source(); }

void LinearBarrier::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (me != 0) {
    if (round == 0) sink.send(0, nothing());
    if (round == 1) sink.receive(0, nothing());
    return;
  }
  for (Rank rank = 1; rank < shape.size; ++rank) {
    if (round == 0) sink.receive(rank, nothing());
    if (round == 1) sink.send(rank, nothing());
  }
}

}  // namespace stretto::schedule
