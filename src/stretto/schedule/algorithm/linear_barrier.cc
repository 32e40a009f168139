#include "stretto/schedule/algorithm/linear_barrier.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view LinearBarrier::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", IJHPCA "
         "2005";
}

void LinearBarrier::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  for (Rank rank = 1; rank < shape.size; ++rank) {
    if (me != 0 && me != rank) continue;
    const bool gives = (round == 0) == (me != 0);
    const Rank peer = me == 0 ? rank : 0;
    if (gives) {
      sink.send(peer, nothing());
    } else {
      sink.receive(peer, nothing());
    }
  }
}

}  // namespace stretto::schedule
