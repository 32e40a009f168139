#include "stretto/schedule/algorithm/recursive_doubling_exscan.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view RecursiveDoublingExscan::source() const noexcept {
  return "Hillis and Steele, \"Data parallel algorithms\", Communications of the ACM 29(12), 1986";
}

void RecursiveDoublingExscan::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank distance = Rank{1} << round;
  const BlockRef given = scratch(2);
  if (distance < shape.size - me) sink.send(me + distance, round == 0 || me == 0 ? input() : given);
  if (me < distance) return;

  const BlockRef landing = scratch(round % 2);
  sink.receive(me - distance, landing);
  const bool gives_again = std::uint64_t{me} + 2 * std::uint64_t{distance} < shape.size;
  if (gives_again && round == 0) sink.copy(input(), given);
  if (gives_again) sink.reduce(landing, given, Order::source_first);
  if (round == 0) {
    sink.copy(landing, output());
  } else {
    sink.reduce(landing, output(), Order::source_first);
  }
}

std::uint32_t RecursiveDoublingExscan::rounds(const Shape& shape) const { return doublings(shape.size); }

}  // namespace stretto::schedule
