#include "stretto/schedule/algorithm/chain_exscan.h"

#include "stretto/schedule/algorithm/prefix_chain.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view ChainExscan::source() const noexcept { return PrefixChain::source; }

std::uint32_t ChainExscan::rounds(const Shape& shape) const { return shape.size == 1 ? 0 : PrefixChain::rounds(shape); }

void ChainExscan::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const PrefixChain chain(shape, me, round);
  const auto with_own = [&](std::uint32_t segment) { return scratch(shape.blocks + segment); };
  if (const auto segment = chain.given()) sink.send(me + 1, me == 0 ? input(*segment) : with_own(*segment));
  const auto segment = chain.taken();
  if (segment && me + 1 == shape.size) {
    sink.receive(me - 1, output(*segment));
  } else if (segment) {
    sink.receive(me - 1, scratch(*segment));
    sink.copy(input(*segment), with_own(*segment));
    sink.reduce(scratch(*segment), with_own(*segment), Order::source_first);
    sink.copy(scratch(*segment), output(*segment));
  }
}

}  // namespace stretto::schedule
