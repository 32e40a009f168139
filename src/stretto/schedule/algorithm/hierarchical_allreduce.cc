#include "stretto/schedule/algorithm/hierarchical_allreduce.h"

#include <algorithm>
#include <limits>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

std::string_view HierarchicalAllreduce::source() const noexcept {
  if (slices_ == Slices::one) return Composition::source();
  return "Cho, Finkler, Kung and Hunter, \"BlueConnect: decomposing all-reduce for deep learning on heterogeneous "
         "network hierarchy\", MLSys 2019";
}

Shape HierarchicalAllreduce::between_shape(const Shape& shape) const {
  const std::uint32_t blocks = shape.blocks / slices_of(shape, slices_);
  return part_shape(shape, Operation::allreduce, shape.hosts.count(), 0, blocks);
}

Blocking HierarchicalAllreduce::blocking(const Shape& shape) const {
  if (!shape.hosts.are_known()) return {};
  const Blocking its = between_.blocking(between_shape(shape));
  const std::uint64_t unit = std::uint64_t{its.unit} * slices_of(shape, slices_);
  const std::uint64_t most = std::numeric_limits<std::uint32_t>::max() / unit;
  return {.unit = static_cast<std::uint32_t>(unit),
          .most_segments = static_cast<std::uint32_t>(std::min<std::uint64_t>(its.most_segments, most))};
}

bool HierarchicalAllreduce::is_canonical(const Shape& shape) const {
  return shape.hosts.are_aligned() && between_.is_canonical(between_shape(shape)) &&
         reduce_.is_canonical(part_shape(shape, Operation::reduce, shape.hosts.most()));
}

std::uint32_t HierarchicalAllreduce::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 1) return between_.rounds(between_shape(shape));
  return rounds_inside(shape, phase == 0 ? reduce_ : broadcast_);
}

std::vector<Part> HierarchicalAllreduce::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const std::span<const Rank> members = hosts.members(hosts.of(me));
  const Rank place = hosts.place(me);
  const Rank slices = slices_of(shape, slices_);
  const std::uint32_t each = shape.blocks / slices;
  std::vector<Part> parts;
  if (phase == 1) {
    if (place >= slices) return parts;
    parts.push_back({.algorithm = &between_,
                     .shape = between_shape(shape),
                     .ranks = Subgroup::across(hosts, me, place),
                     .me = hosts.of(me),
                     .blocks = {.first = place * each},
                     .input = {members.size() == 1 ? Buffer::input : Buffer::output}});
    return parts;
  }
  if (members.size() == 1) return parts;
  // Each begins behind its own slice, so that not all speak to the first member at once.
  for (Rank distance = 1; distance <= slices; ++distance) {
    const Rank slice = phase == 0 ? after(place % slices, distance, slices) : before(place % slices, distance, slices);
    Part part = inside(shape, phase == 0 ? reduce_ : broadcast_, me, members[slice]);
    part.blocks = {.first = slice * each, .each = each};
    if (phase == 2) part.input = {Buffer::output};
    parts.push_back(part);
  }
  return parts;
}

}  // namespace stretto::schedule
