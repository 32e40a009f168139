#include "stretto/schedule/algorithm/hierarchical_reduce_scatter.h"

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// A slice of each member's blocks, combined over the host.
constexpr BufferName partial{Buffer::scratch, 0};

/// How many of a host's members a slice is for.
Rank members_of_slice(Rank members, Rank slice, Rank slices) { return (members - slice + slices - 1) / slices; }

}  // namespace

std::string_view HierarchicalReduceScatter::source() const noexcept {
  if (slices_ == Slices::one) return Composition::source();
  return "Cho, Finkler, Kung and Hunter, \"BlueConnect: decomposing all-reduce for deep learning on heterogeneous "
         "network hierarchy\", MLSys 2019";
}

Shape HierarchicalReduceScatter::between_shape(const Shape& shape) const {
  return part_shape(shape, Operation::reduce_scatter, shape.hosts.count());
}

Shape HierarchicalReduceScatter::scatter_shape(const Shape& shape, Rank members) const {
  return part_shape(shape, Operation::scatter, members);
}

bool HierarchicalReduceScatter::is_canonical(const Shape& shape) const {
  return shape.hosts.are_aligned() && between_.is_canonical(between_shape(shape)) &&
         reduce_.is_canonical(part_shape(shape, Operation::reduce, shape.hosts.most()));
}

std::uint32_t HierarchicalReduceScatter::rounds_of(const Shape& shape, std::uint32_t phase) const {
  if (phase == 0) return rounds_inside(shape, reduce_);
  if (phase == 1) return between_.rounds(between_shape(shape));
  const Rank most = members_of_slice(shape.hosts.most(), 0, slices_of(shape, slices_));
  return most == 1 ? 0 : scatter_.rounds(scatter_shape(shape, most));
}

std::vector<Part> HierarchicalReduceScatter::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  if (phase == 0) return reduces(shape, me);
  const Hosts& hosts = shape.hosts;
  const auto members = static_cast<Rank>(hosts.members(hosts.of(me)).size());
  const Rank place = hosts.place(me);
  const Rank slices = slices_of(shape, slices_);
  const Rank slice = place % slices;
  const Rank served = members_of_slice(members, slice, slices);
  std::vector<Part> parts;
  if (phase == 1 && place < slices) {
    parts.push_back({.algorithm = &between_,
                     .shape = between_shape(shape),
                     .ranks = Subgroup::across(hosts, me, place),
                     .me = hosts.of(me),
                     .blocks = {.kind = BlockNames::Kind::of_hosts, .share = slice, .shares = slices},
                     .input = members == 1 ? BufferName{Buffer::input} : partial,
                     .output = served == 1 ? BufferName{Buffer::output} : partial,
                     .scratch = {Buffer::scratch, 1}});
  }
  if (phase == 2 && served > 1) {
    parts.push_back({.algorithm = &scatter_,
                     .shape = scatter_shape(shape, served),
                     .ranks = Subgroup::of_host(hosts, hosts.of(me), slice, slices),
                     .me = place / slices,
                     .blocks = {.kind = BlockNames::Kind::of_ranks},
                     .input = partial,
                     .scratch = {Buffer::scratch, 1}});
  }
  return parts;
}

// Each begins behind its own slice, so that not all speak to the first member at once.
std::vector<Part> HierarchicalReduceScatter::reduces(const Shape& shape, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const std::span<const Rank> members = hosts.members(hosts.of(me));
  const Rank slices = slices_of(shape, slices_);
  std::vector<Part> parts;
  if (members.size() == 1) return parts;
  for (Rank distance = 1; distance <= slices; ++distance) {
    const Rank slice = after(hosts.place(me) % slices, distance, slices);
    parts.push_back(inside(shape, reduce_, me, members[slice]));
    parts.back().blocks = {.kind = BlockNames::Kind::of_all_hosts, .share = slice, .shares = slices};
    parts.back().output = partial;
    parts.back().scratch = {Buffer::scratch, 1};
  }
  return parts;
}

}  // namespace stretto::schedule
