#include "stretto/schedule/algorithm/hierarchical_barrier.h"

namespace stretto::schedule {

std::uint32_t HierarchicalBarrier::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 1) return between_.rounds(part_shape(shape, Operation::barrier, shape.hosts.count()));
  return rounds_inside(shape, phase == 0 ? reduce_ : broadcast_);
}

std::vector<Part> HierarchicalBarrier::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const Rank leader = hosts.members(hosts.of(me)).front();
  std::vector<Part> parts;
  if (phase != 1 && hosts.members(hosts.of(me)).size() > 1) {
    parts.push_back(inside(shape, phase == 0 ? reduce_ : broadcast_, me, leader));
    parts.back().blocks.each = 0;
  }
  if (phase == 1 && me == leader) {
    parts.push_back({.algorithm = &between_,
                     .shape = part_shape(shape, Operation::barrier, hosts.count()),
                     .ranks = Subgroup::across(hosts, me),
                     .me = hosts.of(me)});
  }
  return parts;
}

}  // namespace stretto::schedule
