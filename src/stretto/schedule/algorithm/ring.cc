#include "stretto/schedule/algorithm/ring.h"

namespace stretto::schedule {

void ring_reduce_scatter(Sink& sink, const Shape& shape, Rank me, std::uint32_t round, std::uint32_t segments,
                         std::uint32_t result) {
  const std::uint32_t given = before(me, round + 1, shape.size) * segments;
  const std::uint32_t taken = before(me, round + 2, shape.size) * segments;
  for (std::uint32_t i = 0; i < segments; ++i) {
    sink.send(after(me, 1, shape.size), round == 0 ? input(given + i) : scratch(given + i));
  }
  for (std::uint32_t i = 0; i < segments; ++i) {
    const BlockRef partial = scratch(taken + i);
    sink.receive(before(me, 1, shape.size), partial);
    if (taken == me * segments) {
      sink.copy(input(taken + i), output(result + i));
      sink.reduce(partial, output(result + i), Order::source_first);
    } else {
      sink.reduce(input(taken + i), partial, Order::destination_first);
    }
  }
}

void ring_allgather(Sink& sink, const Shape& shape, Rank me, std::uint32_t round, std::uint32_t segments) {
  const std::uint32_t given = before(me, round, shape.size) * segments;
  const std::uint32_t taken = before(me, round + 1, shape.size) * segments;
  for (std::uint32_t i = 0; i < segments; ++i) sink.send(after(me, 1, shape.size), output(given + i));
  for (std::uint32_t i = 0; i < segments; ++i) sink.receive(before(me, 1, shape.size), output(taken + i));
}

}  // namespace stretto::schedule
