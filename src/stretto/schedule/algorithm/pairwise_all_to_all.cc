#include "stretto/schedule/algorithm/pairwise_all_to_all.h"

#include <bit>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view PairwiseAllToAll::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on all-to-all";
}

void PairwiseAllToAll::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (shape.size > 1) {
    const Rank k = round + 1;
    const bool pairs = std::has_single_bit(shape.size);
    const Rank to = pairs ? me ^ k : after(me, k, shape.size);
    const Rank from = pairs ? to : before(me, k, shape.size);
    sink.send(to, input(to));
    sink.receive(from, output(from));
  }
  if (round == 0) sink.copy(input(me), output(me));
}

bool PairwiseAllToAll::rotation_symmetric(const Shape& shape) const {
  return !std::has_single_bit(shape.size) || shape.size <= 2;
}

}  // namespace stretto::schedule
