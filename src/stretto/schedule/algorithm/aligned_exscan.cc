#include "stretto/schedule/algorithm/aligned_exscan.h"

#include <bit>

#include "stretto/schedule/algorithm/aligned_prefix.h"

namespace stretto::schedule {

std::string_view AlignedExscan::source() const noexcept {
  return "Sklansky, \"Conditional-sum addition logic\", IRE Transactions on Electronic Computers 9(2), 1960";
}

std::uint32_t AlignedExscan::rounds(const Shape& shape) const { return doublings(shape.size); }

void AlignedExscan::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const AlignedPrefix prefix(shape.size, me, round);
  prefix.give(sink);
  const BlockRef landing = prefix.take(sink);
  if (!prefix.receives() || !prefix.comes_before()) return;
  const bool is_first = round == static_cast<std::uint32_t>(std::countr_zero(me));
  if (is_first) {
    sink.copy(landing, output());
  } else {
    sink.reduce(landing, output(), Order::source_first);
  }
}

std::uint32_t AlignedExscan::scratch_blocks(const Shape& shape, Rank) const {
  return shape.size == 1 ? 0 : AlignedPrefix::scratch_blocks;
}

}  // namespace stretto::schedule
