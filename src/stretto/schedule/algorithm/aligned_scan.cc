#include "stretto/schedule/algorithm/aligned_scan.h"

#include <algorithm>

#include "stretto/schedule/algorithm/aligned_prefix.h"

namespace stretto::schedule {

std::string_view AlignedScan::source() const noexcept {
  return "Sklansky, \"Conditional-sum addition logic\", IRE Transactions on Electronic Computers 9(2), 1960";
}

std::uint32_t AlignedScan::rounds(const Shape& shape) const {
  return std::max(doublings(shape.size), 1U);  // a rank that is alone still has its copy to make
}

void AlignedScan::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (round == 0) sink.copy(input(), output());
  if (shape.size == 1) return;
  const AlignedPrefix prefix(shape.size, me, round);
  prefix.give(sink);
  const BlockRef landing = prefix.take(sink);
  if (prefix.receives() && prefix.comes_before()) sink.reduce(landing, output(), Order::source_first);
}

std::uint32_t AlignedScan::scratch_blocks(const Shape& shape, Rank) const {
  return shape.size == 1 ? 0 : AlignedPrefix::scratch_blocks;
}

}  // namespace stretto::schedule
