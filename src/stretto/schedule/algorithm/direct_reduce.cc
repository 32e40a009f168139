#include "stretto/schedule/algorithm/direct_reduce.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view DirectReduce::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on reduce";
}

void DirectReduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const bool is_root = me == shape.root;
  if (round == 1 && !is_root) return sink.send(shape.root, scratch(me));
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank peer = after(me, distance, shape.size);
    if (round == 0) {
      sink.send(peer, input(peer));
    } else {
      sink.receive(peer, output(peer));
    }
  }
  if (round == 0) combine_in_rank_order(sink, shape, me, me, is_root ? output(me) : scratch(me));
}

std::uint32_t DirectReduce::scratch_blocks(const Shape& shape, Rank) const {
  return rank_order_scratch(shape, shape.size);
}

}  // namespace stretto::schedule
