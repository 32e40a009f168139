#include "stretto/collective/call_checks.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "stretto/base/error.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/make_call.h"

namespace stretto {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::invalid_argument, what); }

void require_valid(const Group& group, const CollectiveCall& call, std::uint32_t nodes) {
  if (group.last_node() >= nodes) {
    refuse("node " + std::to_string(group.last_node()) + " of the group does not exist; the job has " +
           std::to_string(nodes) + " nodes");
  }
  if (call.root >= group.size()) {
    refuse("root " + std::to_string(call.root) + " is no rank of a group of " + std::to_string(group.size()));
  }
}

// In an all-to-all each part goes where the one of the same rank comes from: all are of one size, or as long.
bool is_in_place(const CollectiveCall& call, Rank size, Rank me) {
  const std::ptrdiff_t distance = call.input.data() - call.output.data();
  if (call.operation() == schedule::Operation::all_to_all) {
    return distance == 0 && std::ranges::equal(call.block_offsets(), call.output_offsets());
  }
  const schedule::Shape shape = shape_of(call, size);
  return distance == Layout(call, shape).in_place_distance(shape, me);
}

// Input and output are apart, or in place.
void require_apart(const CollectiveCall& call, Rank size, Rank me) {
  if (are_apart(call.input, call.output)) return;
  if (is_in_place(call, size, me)) return;
  refuse(std::string(name_of(call)) + ": input and output overlap; pass buffers that are apart, or in place");
}

// The first shard is the input. It is copied to the output before the others are read.
void require_shards_apart(const CollectiveCall& call) {
  const std::span<const ConstByteSpan> further = call.shards();
  for (std::size_t shard = 0; shard < further.size(); ++shard) {
    if (are_apart(further[shard], call.output)) continue;
    refuse(std::string(name_of(call)) + ": output and shard " + std::to_string(shard + 1) +
           " overlap; pass an output that is apart, or shard 0");
  }
}

}  // namespace

void require_proper(const Group& group, Rank me, const CollectiveCall& call, const CollectiveOptions& options,
                    std::uint32_t nodes) {
  if (options.auxiliaries() && call.operation() != schedule::Operation::allreduce) {
    refuse(std::string(name_of(call)) + ": auxiliaries help an allreduce only; leave them out");
  }
  require_valid(group, call, nodes);
  if (me < group.size()) detail::require_fitting(call, group.size(), me);
  require_apart(call, group.size(), me);
  require_shards_apart(call);
}

Named named_algorithm(const CollectiveOptions& options, const CollectiveCall& call, const schedule::Shape& shape) {
  const std::string_view name = options.algorithm();
  const schedule::Algorithm& algorithm = schedule::find_algorithm(name);
  if (algorithm.operation() != shape.operation) {
    refuse(std::string(name) + " is an algorithm of " + std::string(schedule::name_of(algorithm.operation())) +
           ", not of " + std::string(schedule::name_of(shape.operation)) + "; `stretto explain` lists those");
  }
  algorithm.require(algorithm.with_segments(shape, 1));
  const std::uint32_t most = algorithm.blocking(shape).most_segments;
  if (options.segments() == 0 || options.segments() > most) {
    refuse(std::string(name) + ": segments must be from 1 to " + std::to_string(most) + ", not " +
           std::to_string(options.segments()));
  }
  if (algorithm.needs_equal_blocks() && !call.block_offsets().empty()) {
    refuse(std::string(name) + " needs blocks of one size; name another algorithm");
  }
  return {&algorithm, options.segments()};
}

}  // namespace stretto
