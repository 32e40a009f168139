#include "stretto/schedule/algorithm/ring_allgather.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view RingAllgather::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on allgather";
}

std::uint32_t RingAllgather::rounds(const Shape& shape) const {
  return std::max(shape.size - 1, 1U);  // a rank that is alone still has its copy to make
}

void RingAllgather::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (shape.size > 1) {
    const Rank held = before(me, round, shape.size);
    sink.send(after(me, 1, shape.size), round == 0 ? input() : output(held));
    sink.receive(before(me, 1, shape.size), output(before(held, 1, shape.size)));
  }
  if (round == 0) sink.copy(input(), output(me));
}

std::uint32_t RingAllgather::scratch_blocks(const Shape&, Rank) const { return 0; }

}  // namespace stretto::schedule
