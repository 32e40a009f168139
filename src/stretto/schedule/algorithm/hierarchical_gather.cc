#include "stretto/schedule/algorithm/hierarchical_gather.h"

namespace stretto::schedule {

Shape HierarchicalGather::between_shape(const Shape& shape) const {
  return part_shape(shape, Operation::gather, shape.hosts.count(), shape.hosts.of(shape.root));
}

std::uint32_t HierarchicalGather::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 2) return 0;
  return phase == 0 ? rounds_inside(shape, inside_) : between_.rounds(between_shape(shape));
}

std::vector<Part> HierarchicalGather::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const Rank leader = leader_of_host(shape, me, shape.root);
  const bool is_alone = hosts.members(hosts.of(me)).size() == 1;
  // The host's blocks, in their slots: only the root has an output.
  const BufferName gathered{me == shape.root ? Buffer::output : Buffer::scratch};
  std::vector<Part> parts;
  if (phase == 0 && !is_alone) {
    parts.push_back(inside(shape, inside_, me, leader));
    parts.back().blocks = {.kind = BlockNames::Kind::of_ranks};
    parts.back().output = gathered;
  }
  if (phase == 1 && me == leader) {
    parts.push_back({.algorithm = &between_,
                     .shape = between_shape(shape),
                     .ranks = Subgroup::across(hosts, shape.root),
                     .me = hosts.of(me),
                     .blocks = {.kind = BlockNames::Kind::of_hosts},
                     .input = is_alone ? BufferName{Buffer::input} : gathered});
  }
  return parts;
}

}  // namespace stretto::schedule
