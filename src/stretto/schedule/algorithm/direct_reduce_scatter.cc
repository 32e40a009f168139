#include "stretto/schedule/algorithm/direct_reduce_scatter.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view DirectReduceScatter::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on reduce-scatter";
}

void DirectReduceScatter::steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const {
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = after(me, distance, shape.size);
    sink.send(peer, input(peer));
  }
  combine_in_rank_order(sink, shape, me, me, output());
}

std::uint32_t DirectReduceScatter::scratch_blocks(const Shape& shape, Rank) const {
  return rank_order_scratch(shape, shape.size);
}

}  // namespace stretto::schedule
