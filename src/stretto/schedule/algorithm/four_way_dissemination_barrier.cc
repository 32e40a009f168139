#include "stretto/schedule/algorithm/four_way_dissemination_barrier.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view FourWayDisseminationBarrier::source() const noexcept {
  return "Hoefler, Mehlan, Mietke and Rehm, \"Fast barrier synchronization for InfiniBand\", IPDPS 2006";
}

std::uint32_t FourWayDisseminationBarrier::rounds(const Shape& shape) const { return (doublings(shape.size) + 1) / 2; }

void FourWayDisseminationBarrier::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const std::uint64_t step = std::uint64_t{1} << (2 * round);
  const auto end = static_cast<Rank>(std::min<std::uint64_t>(4 * step, shape.size));
  for (std::uint64_t distance = step; distance < end; distance += step) {
    sink.send(after(me, static_cast<Rank>(distance), shape.size), nothing());
  }
  for (std::uint64_t distance = step; distance < end; distance += step) {
    sink.receive(before(me, static_cast<Rank>(distance), shape.size), nothing());
  }
}

}  // namespace stretto::schedule
