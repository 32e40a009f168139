#include "stretto/schedule/algorithm/hierarchical_scan.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

constexpr BufferName sum_of_host{Buffer::scratch, 1};
constexpr std::uint32_t free_vector = 2;  ///< behind the sums of the hosts before and of the host

/// A broadcast of what all put before what they have, or all but the root.
class Prepending final : public Algorithm {
 public:
  explicit Prepending(bool at_root) noexcept : at_root_(at_root) {}

  std::string_view name() const noexcept override { return "prepending"; }
  std::string_view source() const noexcept override { return "hierarchical_scan.h"; }
  Operation operation() const noexcept override { return Operation::broadcast; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override { return me == shape.root ? 0 : 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const override {
    if (me != shape.root) {
      sink.receive(shape.root, scratch());
      return sink.reduce(scratch(), output(), Order::source_first);
    }
    for (Rank distance = 1; distance < shape.size; ++distance) sink.send(after(me, distance, shape.size), input());
    if (at_root_) sink.reduce(input(), output(), Order::source_first);
  }

 private:
  bool at_root_;
};

const Prepending prepending_at_all(true);
const Prepending prepending_at_others(false);

}  // namespace

std::string_view HierarchicalScan::source() const noexcept {
  return "Sanders and Träff, \"Parallel prefix (scan) algorithms for MPI\", EuroPVM/MPI 2006, on clusters of SMP nodes";
}

BufferName HierarchicalScan::sum_before() const noexcept {
  return operation() == Operation::scan ? BufferName{Buffer::scratch, 0} : BufferName{Buffer::output};
}

std::uint32_t HierarchicalScan::rounds_of(const Shape& shape, std::uint32_t phase) const {
  const Hosts& hosts = shape.hosts;
  if (phase == 1) return between_.rounds(part_shape(shape, Operation::exscan, hosts.count()));
  if (phase == 2) return hosts.count() > 1 ? 1 : 0;
  return std::max(prefix_.rounds(part_shape(shape, operation(), hosts.most())), rounds_inside(shape, reduce_));
}

std::vector<Part> HierarchicalScan::parts_of(const Shape& shape, std::uint32_t phase, Rank me) const {
  if (phase == 0) return prefix_and_sum(shape, me);
  const Hosts& hosts = shape.hosts;
  const std::uint32_t host = hosts.of(me);
  const Rank leader = hosts.members(host).front();
  std::vector<Part> parts;
  if (phase == 1 && me == leader) {
    parts.push_back({.algorithm = &between_,
                     .shape = part_shape(shape, Operation::exscan, hosts.count()),
                     .ranks = Subgroup::across(hosts, me),
                     .me = host,
                     .input = hosts.members(host).size() == 1 ? BufferName{Buffer::input} : sum_of_host,
                     .output = sum_before(),
                     .scratch = {Buffer::scratch, free_vector}});
  }
  if (phase == 2 && host != 0) {
    parts.push_back(
        inside(shape, operation() == Operation::scan ? prepending_at_all : prepending_at_others, me, leader));
    parts.back().input = sum_before();
    parts.back().scratch = {Buffer::scratch, free_vector};
  }
  return parts;
}

std::vector<Part> HierarchicalScan::prefix_and_sum(const Shape& shape, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const std::span<const Rank> members = hosts.members(hosts.of(me));
  std::vector<Part> parts{inside(shape, prefix_, me, members.front())};
  parts.back().scratch = {Buffer::scratch, free_vector};
  // Nobody comes after the last host.
  if (members.size() == 1 || hosts.of(me) + 1 == hosts.count()) return parts;
  const std::uint32_t taken = prefix_.scratch_blocks(parts.back().shape, hosts.place(me));
  parts.push_back(inside(shape, reduce_, me, members.front()));
  parts.back().output = sum_of_host;
  parts.back().scratch = {Buffer::scratch, free_vector + taken};
  return parts;
}

}  // namespace stretto::schedule
