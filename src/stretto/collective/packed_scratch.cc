#include "stretto/collective/packed_scratch.h"

#include <algorithm>

#include "stretto/base/round_up.h"

namespace stretto {

void PackedScratch::add(const Place& place) {
  if (place.buffer != schedule::Buffer::scratch || place.bytes == 0) return;
  constexpr std::size_t line = Layout::scratch_alignment;
  used_.push_back({place.offset / line * line, round_up(place.offset + place.bytes, line)});
}

void PackedScratch::pack() {
  std::sort(used_.begin(), used_.end(), [](const Lines& a, const Lines& b) { return a.begin < b.begin; });
  std::size_t count = 0;
  for (const Lines& next : used_) {
    if (count > 0 && next.begin <= used_[count - 1].end) {
      used_[count - 1].end = std::max(used_[count - 1].end, next.end);
    } else {
      used_[count++] = next;
    }
  }
  used_.resize(count);
  for (Lines& lines : used_) {
    lines.left_out = lines.begin - bytes_;
    bytes_ += lines.end - lines.begin;
  }
}

void PackedScratch::move(Place& place) const noexcept {
  if (place.buffer != schedule::Buffer::scratch) return;
  const auto after = std::upper_bound(used_.begin(), used_.end(), place.offset,
                                      [](std::size_t offset, const Lines& lines) { return offset < lines.begin; });
  if (after != used_.begin()) place.offset -= (after - 1)->left_out;
}

}  // namespace stretto
