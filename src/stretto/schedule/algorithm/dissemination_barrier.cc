#include "stretto/schedule/algorithm/dissemination_barrier.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view DisseminationBarrier::source() const noexcept {
  return "Hensgen, Finkel and Manber, \"Two algorithms for barrier synchronization\", IJPP 17(1), 1988";
}

std::uint32_t DisseminationBarrier::rounds(const Shape& shape) const { return doublings(shape.size); }

void DisseminationBarrier::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Rank distance = Rank{1} << round;
  sink.send(after(me, distance, shape.size), nothing());
  sink.receive(before(me, distance, shape.size), nothing());
}

std::uint32_t DisseminationBarrier::scratch_blocks(const Shape&, Rank) const { return 0; }

}  // namespace stretto::schedule
