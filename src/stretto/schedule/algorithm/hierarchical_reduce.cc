#include "stretto/schedule/algorithm/hierarchical_reduce.h"

namespace stretto::schedule {

Shape HierarchicalReduce::between_shape(const Shape& shape) const {
  return part_shape(shape, Operation::reduce, shape.hosts.count(), shape.hosts.of(shape.root), shape.blocks);
}

Blocking HierarchicalReduce::blocking(const Shape& shape) const {
  return shape.hosts.are_known() ? between_.blocking(between_shape(shape)) : Blocking{};
}

bool HierarchicalReduce::is_canonical(const Shape& shape) const {
  return shape.hosts.are_aligned() && between_.is_canonical(between_shape(shape)) &&
         inside_.is_canonical(part_shape(shape, Operation::reduce, shape.hosts.most()));
}

std::uint32_t HierarchicalReduce::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 2) return 0;
  return phase == 0 ? rounds_inside(shape, inside_) : between_.rounds(between_shape(shape));
}

std::vector<Part> HierarchicalReduce::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const Rank leader = leader_of_host(shape, me, shape.root);
  const bool is_alone = hosts.members(hosts.of(me)).size() == 1;
  // The host's partial result: only the root has an output.
  const BufferName partial = is_alone           ? BufferName{Buffer::input}
                             : me == shape.root ? BufferName{Buffer::output}
                                                : BufferName{Buffer::scratch, 0};
  const BufferName scratch{Buffer::scratch, partial.buffer == Buffer::scratch ? 1U : 0U};
  std::vector<Part> parts;
  if (phase == 0 && !is_alone) {
    parts.push_back(inside(shape, inside_, me, leader));
    parts.back().output = partial;
    parts.back().scratch = scratch;
  }
  if (phase == 1 && me == leader) {
    parts.push_back({.algorithm = &between_,
                     .shape = between_shape(shape),
                     .ranks = Subgroup::across(hosts, shape.root),
                     .me = hosts.of(me),
                     .input = partial,
                     .scratch = scratch});
  }
  return parts;
}

}  // namespace stretto::schedule
