#include "stretto/schedule/algorithm/hierarchical_allgather.h"

namespace stretto::schedule {

std::uint32_t HierarchicalAllgather::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 1) return between_.rounds(part_shape(shape, Operation::allgather, shape.hosts.count()));
  return rounds_inside(shape, phase == 0 ? gather_ : broadcast_);
}

std::vector<Part> HierarchicalAllgather::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const Rank leader = hosts.members(hosts.of(me)).front();
  const bool is_alone = hosts.members(hosts.of(me)).size() == 1;
  std::vector<Part> parts;
  if (phase == 1) {
    if (me != leader) return parts;
    parts.push_back({.algorithm = &between_,
                     .shape = part_shape(shape, Operation::allgather, hosts.count()),
                     .ranks = Subgroup::across(hosts, me),
                     .me = hosts.of(me),
                     .blocks = {.kind = BlockNames::Kind::of_hosts},
                     .input = {is_alone ? Buffer::input : Buffer::output}});
    return parts;
  }
  if (is_alone) return parts;
  parts.push_back(inside(shape, phase == 0 ? gather_ : broadcast_, me, leader));
  if (phase == 0) {
    parts.back().blocks = {.kind = BlockNames::Kind::of_ranks};
  } else {
    parts.back().input = {Buffer::output};
  }
  return parts;
}

}  // namespace stretto::schedule
