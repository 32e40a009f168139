#include "stretto/schedule/algorithm/chain_scan.h"

#include "stretto/schedule/algorithm/prefix_chain.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view ChainScan::source() const noexcept { return PrefixChain::source; }

std::uint32_t ChainScan::rounds(const Shape& shape) const {
  return shape.size == 1 ? 1 : PrefixChain::rounds(shape);  // a rank that is alone still has its copy to make
}

void ChainScan::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const PrefixChain chain(shape, me, round);
  if (const auto segment = chain.given()) sink.send(me + 1, me == 0 ? input(*segment) : output(*segment));
  if (me == 0 && round == 0) sink.copy(input(0, shape.blocks), output(0, shape.blocks));
  if (const auto segment = chain.taken()) {
    sink.receive(me - 1, scratch(*segment));
    sink.copy(input(*segment), output(*segment));
    sink.reduce(scratch(*segment), output(*segment), Order::source_first);
  }
}

}  // namespace stretto::schedule
