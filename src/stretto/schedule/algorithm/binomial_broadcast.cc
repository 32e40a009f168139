#include "stretto/schedule/algorithm/binomial_broadcast.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view BinomialBroadcast::source() const noexcept {
  return "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 2.1, Fig. 1 reversed";
}

std::uint32_t BinomialBroadcast::rounds(const Shape& shape) const {
  return std::max(doublings(shape.size), 1U);  // a root that is alone still has its copy to make
}

void BinomialBroadcast::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const std::uint32_t last = rounds(shape) - 1;
  const Rank distance = Rank{1} << (last - round);
  const Rank v = before(me, shape.root, shape.size);
  const BlockRef held = v == 0 ? input() : output();

  if (v % (2 * distance) == 0 && distance < shape.size - v) sink.send(after(me, distance, shape.size), held);
  if (v % (2 * distance) == distance) sink.receive(before(me, distance, shape.size), output());
  if (v == 0 && round == last) sink.copy(input(), output());
}

std::uint32_t BinomialBroadcast::scratch_blocks(const Shape&, Rank) const { return 0; }

}  // namespace stretto::schedule
