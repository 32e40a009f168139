#include "stretto/schedule/algorithm/chain_broadcast.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view ChainBroadcast::source() const noexcept {
  return "Pjesivac-Grbovic et al., \"Performance analysis of MPI collective operations\", Cluster Computing 10(2), "
         "2007";
}

std::uint32_t ChainBroadcast::rounds(const Shape& shape) const {
  return shape.size == 1 ? 1 : shape.blocks + shape.size - 2;
}

void ChainBroadcast::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank v = before(me, shape.root, shape.size);
  if (v + 1 < shape.size && round >= v && round - v < shape.blocks) {
    sink.send(after(me, 1, shape.size), v == 0 ? input(round - v) : output(round - v));
  }
  if (v > 0 && round + 1 >= v && round + 1 - v < shape.blocks) {
    sink.receive(before(me, 1, shape.size), output(round + 1 - v));
  }
  if (v == 0 && round + 1 == rounds(shape)) sink.copy(input(0, shape.blocks), output(0, shape.blocks));
}

}  // namespace stretto::schedule
