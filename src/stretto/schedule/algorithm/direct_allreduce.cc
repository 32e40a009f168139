#include "stretto/schedule/algorithm/direct_allreduce.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view DirectAllreduce::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on all-reduce: reduce-scatter and allgather, each in one round";
}

void DirectAllreduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = after(me, distance, shape.size);
    sink.send(peer, round == 0 ? input(peer) : output(me));
  }
  if (round == 0) return combine_in_rank_order(sink, shape, me, me, output(me));
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = before(me, distance, shape.size);
    sink.receive(peer, output(peer));
  }
}

std::uint32_t DirectAllreduce::scratch_blocks(const Shape& shape, Rank) const {
  return rank_order_scratch(shape, shape.size);
}

}  // namespace stretto::schedule
