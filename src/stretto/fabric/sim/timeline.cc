#include "stretto/fabric/sim/timeline.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace stretto::fabric {

VirtualTime to_virtual(double seconds) {
  return static_cast<VirtualTime>(std::llround(seconds * picoseconds_per_second));
}

bool Timeline::later(const Entry& a, const Entry& b) noexcept {
  return std::tie(a.time, a.key, a.sequence) > std::tie(b.time, b.key, b.sequence);
}

void Timeline::at(VirtualTime time, std::unique_ptr<Action> action, std::uint64_t label) {
  heap_.push_back({time, random_(), sequence_++, label, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), &Timeline::later);
}

bool Timeline::step() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), &Timeline::later);
  const Entry entry = std::move(heap_.back());
  heap_.pop_back();
  now_ = entry.time;
  ++steps_;
  trace(static_cast<std::uint64_t>(entry.time));
  trace(entry.label);
  entry.action->run();
  return true;
}

void Timeline::trace(std::uint64_t value) noexcept {
  hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15U;
  hash_ ^= hash_ >> 29U;
}

}  // namespace stretto::fabric
