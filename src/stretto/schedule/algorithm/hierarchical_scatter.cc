#include "stretto/schedule/algorithm/hierarchical_scatter.h"

namespace stretto::schedule {

Shape HierarchicalScatter::between_shape(const Shape& shape) const {
  return part_shape(shape, Operation::scatter, shape.hosts.count(), shape.hosts.of(shape.root));
}

std::uint32_t HierarchicalScatter::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 2) return 0;
  return phase == 0 ? between_.rounds(between_shape(shape)) : rounds_inside(shape, inside_);
}

std::vector<Part> HierarchicalScatter::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const Rank leader = leader_of_host(shape, me, shape.root);
  const bool is_alone = hosts.members(hosts.of(me)).size() == 1;
  // The host's blocks, in their slots: only the root has an input.
  const BufferName held{me == shape.root ? Buffer::input : Buffer::scratch};
  std::vector<Part> parts;
  if (phase == 0 && me == leader) {
    parts.push_back({.algorithm = &between_,
                     .shape = between_shape(shape),
                     .ranks = Subgroup::across(hosts, shape.root),
                     .me = hosts.of(me),
                     .blocks = {.kind = BlockNames::Kind::of_hosts},
                     .output = is_alone ? BufferName{Buffer::output} : held});
  }
  if (phase == 1 && !is_alone) {
    parts.push_back(inside(shape, inside_, me, leader));
    parts.back().blocks = {.kind = BlockNames::Kind::of_ranks};
    parts.back().input = held;
  }
  return parts;
}

}  // namespace stretto::schedule
