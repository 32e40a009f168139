#include "stretto/schedule/algorithm/hierarchical_broadcast.h"

namespace stretto::schedule {

Shape HierarchicalBroadcast::between_shape(const Shape& shape) const {
  return part_shape(shape, Operation::broadcast, shape.hosts.count(), shape.hosts.of(shape.root), shape.blocks);
}

Blocking HierarchicalBroadcast::blocking(const Shape& shape) const {
  return shape.hosts.are_known() ? between_.blocking(between_shape(shape)) : Blocking{};
}

std::uint32_t HierarchicalBroadcast::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 2) return 0;
  return phase == 0 ? between_.rounds(between_shape(shape)) : rounds_inside(shape, inside_);
}

std::vector<Part> HierarchicalBroadcast::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const Rank leader = leader_of_host(shape, me, shape.root);
  const bool is_alone = hosts.members(hosts.of(me)).size() == 1;
  std::vector<Part> parts;
  if (phase == 0 && me == leader) {
    parts.push_back({.algorithm = &between_,
                     .shape = between_shape(shape),
                     .ranks = Subgroup::across(hosts, shape.root),
                     .me = hosts.of(me)});
    // A root that is not alone makes its copy when it serves its host.
    if (me == shape.root && !is_alone) parts.back().output = {Buffer::input};
  }
  if (phase == 1 && !is_alone) {
    parts.push_back(inside(shape, inside_, me, leader));
    if (me != shape.root) parts.back().input = {Buffer::output};
  }
  return parts;
}

}  // namespace stretto::schedule
