#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "stretto/collective/group.h"
#include "stretto/collective/reduce_groups.h"
#include "stretto/collective/test_support.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/shape.h"

namespace stretto::test {

/// For tests: one collective of a random program, the same on all nodes.
struct Instruction {
  using Operation = schedule::Operation;
  using Counts = std::vector<std::size_t>;
  static constexpr std::uint64_t operations = 1 + static_cast<std::uint64_t>(Operation::general_reduce);
  enum class Start : std::uint8_t { at_once, after_earlier, after_user_event, after_merge };
  /// The built-in sum; one of the user's that needs the order of its terms; the same as a task.
  enum class Operator : std::uint8_t { sum, of_user, as_task };

  Operation operation;
  Group group;
  std::uint64_t key;
  std::size_t count;
  Rank root;
  Start start;
  std::size_t earlier;  ///< an instruction before this one
  NodeId trigger_node;  ///< who triggers the user event, a member or not
  double delay;         ///< computed before the call, scaled by the node
  Operator op = Operator::sum;
  std::vector<NodeId> auxiliaries = {};  ///< of an allreduce: nodes outside of its group
  // How it is called: like the same call in another way, it gives the same.
  bool is_listed = true;         ///< blocks of different sizes, where the operation has such
  bool is_awaited = false;       ///< before the next one is started
  bool is_reproducible = false;  ///< where it reduces
  std::uint64_t in_place = 0;    ///< bits by node: whether it passes its buffers so, where it has two
  std::uint32_t shards = 0;      ///< allreduce: the most inputs of a member beyond the first
  std::uint64_t algorithm = 0;   ///< which of those that can do it; 0: none is named
  std::uint64_t segments = 0;    ///< beyond the first, where one is named that makes as many
  std::uint64_t memory = 0;      ///< bits by node: whether its input and output are in its segment

  // Who takes part.

  /// The group, and those that are lent to it.
  Group callers() const {
    std::vector<NodeId> nodes(group.nodes().begin(), group.nodes().end());
    nodes.insert(nodes.end(), auxiliaries.begin(), auxiliaries.end());
    return Group(nodes);
  }
  bool is_called_by(NodeId node) const { return group.contains(node) || is_auxiliary(node); }
  bool is_auxiliary(NodeId node) const { return std::ranges::find(auxiliaries, node) != auxiliaries.end(); }

  /// Of a general reduce: ranks 0 to `root` participate; half of them receive, and all others.
  Group participants() const { return first_ranks(group, root + 1); }
  ReduceGroups roles() const {
    const Rank inner = (root + 1 < group.size() ? root + 1 : root + 2) / 2;
    std::vector<NodeId> receivers(group.nodes().begin(), group.nodes().begin() + inner);
    receivers.insert(receivers.end(), group.nodes().begin() + root + 1, group.nodes().end());
    return {participants(), Group(receivers)};
  }

  // Sizes of what a caller passes, in elements.

  bool has_list() const { return is_listed && operation != Operation::barrier && !schedule::cuts_vector(operation); }
  /// Each rank's block, where each has one.
  Counts blocks() const {
    Counts blocks(group.size(), count);
    for (Rank rank = 0; has_list() && rank < group.size(); ++rank) blocks[rank] += rank % 3;
    return blocks;
  }
  /// Of an all-to-all: what a rank gives to each, and gets from each.
  Counts given_parts(Rank from) const {
    Counts parts(group.size());
    for (Rank to = 0; to < group.size(); ++to) parts[to] = part(from, to);
    return parts;
  }
  Counts received_parts(Rank to) const {
    Counts parts(group.size());
    for (Rank from = 0; from < group.size(); ++from) parts[from] = part(from, to);
    return parts;
  }
  /// Elements of the blocks or parts before that of `rank`; for the group's size: of all.
  static std::size_t begin(const Counts& counts, Rank rank) {
    return std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
  }

  std::size_t input_size(NodeId node) const {
    const Rank me = group.rank_of(node);
    switch (operation) {
      case Operation::barrier: return 0;
      case Operation::gather:
      case Operation::allgather: return blocks()[me];
      case Operation::scatter: return me == root ? begin(blocks(), group.size()) : 0;
      case Operation::reduce_scatter: return begin(blocks(), group.size());
      case Operation::all_to_all: return begin(given_parts(me), group.size());
      case Operation::general_reduce: return me <= root ? count : 0;
      default: return count;
    }
  }
  std::size_t output_size(NodeId node) const {
    const Rank me = group.rank_of(node);
    switch (operation) {
      case Operation::barrier: return 0;
      case Operation::reduce: return me == root ? count : 0;
      case Operation::gather: return me == root ? begin(blocks(), group.size()) : 0;
      case Operation::scatter:
      case Operation::reduce_scatter: return blocks()[me];
      case Operation::allgather: return begin(blocks(), group.size());
      case Operation::all_to_all: return begin(received_parts(me), group.size());
      case Operation::general_reduce: return roles().receives(node) ? count : 0;
      default: return count;
    }
  }
  /// Whether a caller's output is not left as it was.
  bool is_written(NodeId node) const {
    return !is_auxiliary(node) && (operation != Operation::exscan || group.rank_of(node) != 0);
  }
  std::uint32_t shards_of(NodeId node) const {
    return operation == Operation::allreduce && !is_auxiliary(node) ? node % (shards + 1) : 0;
  }
  /// Whether the smaller buffer of a caller, or the only one, lies in the larger one.
  bool is_in_place_at(NodeId node) const {
    if (operation == Operation::broadcast) return true;
    const bool may_be = operation != Operation::all_to_all || !has_list();  // its two lists differ
    return (in_place >> (node % 32) & 1U) != 0 && may_be && input_size(node) > 0 && output_size(node) > 0;
  }

  // Schedules.

  struct Named {
    std::string_view name = {};
    std::uint32_t segments = 1;
  };
  /// What is named of the algorithms that can do it on those hosts, if something is.
  Named named(const schedule::Hosts& hosts) const {
    if (algorithm == 0) return {};
    const schedule::Shape shape = shape_on(hosts);
    std::vector<std::string_view> names = algorithms_for(shape);
    if (has_list()) {
      std::erase_if(names, [](std::string_view name) {
        return !name.empty() && schedule::find_algorithm(name).needs_equal_blocks();
      });
    }
    const std::string_view name = names[algorithm % names.size()];
    if (name.empty()) return {};
    const std::uint64_t most = schedule::find_algorithm(name).blocking(shape).most_segments;
    return {name, 1 + static_cast<std::uint32_t>(segments % most)};
  }

 private:
  std::size_t part(Rank from, Rank to) const { return count + (has_list() ? (from + 2 * to) % 3 : 0); }

  schedule::Shape shape_on(const schedule::Hosts& hosts) const {
    schedule::Shape shape;
    shape.operation = operation;
    shape.size = callers().size();
    shape.hosts = hosts;
    shape.auxiliaries = static_cast<Rank>(auxiliaries.size());
    shape.reproducible = is_reproducible && schedule::is_reduction(operation);
    shape.commutative = !schedule::is_reduction(operation) || (op == Operator::sum && !shape.reproducible);
    if (schedule::has_root(operation)) shape.root = root;
    if (operation == Operation::general_reduce) {
      const ReduceGroups groups = roles();
      shape.contributors = groups.participants();
      shape.inner_receivers = groups.inner_receivers();
    }
    return shape;
  }
};

}  // namespace stretto::test
