#include "stretto/schedule/algorithm/chain_reduce.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view ChainReduce::source() const noexcept {
  return "Pjesivac-Grbovic et al., \"Performance analysis of MPI collective operations\", Cluster Computing 10(2), "
         "2007";
}

std::uint32_t ChainReduce::rounds(const Shape& shape) const {
  return shape.size == 1 ? 1 : shape.blocks + shape.size - 2;
}

void ChainReduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (shape.size == 1) return sink.copy(input(0, shape.blocks), output(0, shape.blocks));
  const Rank from_end = shape.size - 1 - before(me, shape.root, shape.size);
  if (me != shape.root && round >= from_end && round - from_end < shape.blocks) {
    const std::uint32_t segment = round - from_end;
    sink.send(before(me, 1, shape.size), from_end == 0 ? input(segment) : scratch(segment));
  }
  if (from_end == 0 || round + 1 < from_end || round + 1 - from_end >= shape.blocks) return;
  const std::uint32_t segment = round + 1 - from_end;
  sink.receive(after(me, 1, shape.size), scratch(segment));
  if (me == shape.root) {
    sink.copy(input(segment), output(segment));
    sink.reduce(scratch(segment), output(segment), Order::destination_first);
  } else {
    sink.reduce(input(segment), scratch(segment), Order::source_first);
  }
}

}  // namespace stretto::schedule
