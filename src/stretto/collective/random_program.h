#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/group.h"
#include "stretto/collective/reduce_groups.h"
#include "stretto/collective/test_support.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/shape.h"

/// For tests: random programs of events and collectives; program_run.h runs them.
namespace stretto::test {

/// One collective of a program, the same on all nodes.
struct Instruction {
  enum class Kind : std::uint8_t {
    barrier,
    broadcast,
    reduce,
    allreduce,
    user_allreduce,
    allgather,
    gather,
    scatter,
    reduce_scatter,
    all_to_all,
    scan,
    exscan,
    general_reduce,
  };
  static constexpr std::uint64_t kinds = 1 + static_cast<std::uint64_t>(Kind::general_reduce);
  enum class Start : std::uint8_t { at_once, after_earlier, after_user_event, after_merge };

  Kind kind;
  Group group;
  std::uint64_t key;
  std::size_t count;
  Rank root;
  Start start;
  std::size_t earlier;  ///< an instruction before this one
  NodeId trigger_node;  ///< who triggers the user event, a member or not
  double delay;         ///< computed before the call, scaled by the node
  // How it is called: like the same call in another way, it gives the same.
  bool is_listed = true;         ///< blocks of different sizes, where the operation has such
  bool is_awaited = false;       ///< before the next one is started
  bool is_in_place = false;      ///< where that is possible with one buffer
  bool is_reproducible = false;  ///< where it reduces
  std::uint32_t shards = 0;      ///< allreduce: the most inputs of a node beyond the first
  std::uint64_t algorithm = 0;   ///< which of those that can do it; 0: none is named
  std::uint64_t memory = 0;      ///< bits by node: whether its input and output are in its segment

  /// Elements of a rank's block, where each rank has one of its own.
  std::size_t block(Rank rank) const { return count + (has_list() ? rank % 3 : 0); }
  bool has_list() const {
    return is_listed &&
           (kind == Kind::gather || kind == Kind::scatter || kind == Kind::reduce_scatter || kind == Kind::allgather);
  }
  bool has_one_buffer() const {
    return kind == Kind::broadcast ||
           (is_in_place && (kind == Kind::allreduce || kind == Kind::user_allreduce || kind == Kind::scan));
  }
  std::uint32_t shards_of(NodeId node) const { return kind == Kind::allreduce ? node % (shards + 1) : 0; }
  std::vector<std::size_t> blocks() const {
    std::vector<std::size_t> blocks;
    for (Rank rank = 0; rank < group.size(); ++rank) blocks.push_back(block(rank));
    return blocks;
  }
  /// Elements of the blocks before that of `rank`.
  std::size_t begin(Rank rank) const {
    std::size_t elements = 0;
    for (Rank before = 0; before < rank; ++before) elements += block(before);
    return elements;
  }

  /// Of a general reduce: ranks 0 to `root` participate; half of them receive, and all others.
  Group participants() const { return first_ranks(group, root + 1); }
  ReduceGroups roles() const {
    const Rank inner = (root + 1 < group.size() ? root + 1 : root + 2) / 2;
    std::vector<NodeId> receivers(group.nodes().begin(), group.nodes().begin() + inner);
    receivers.insert(receivers.end(), group.nodes().begin() + root + 1, group.nodes().end());
    return {participants(), Group(receivers)};
  }

  schedule::Operation operation() const {
    using schedule::Operation;
    static constexpr Operation of_kind[] = {Operation::barrier,       Operation::broadcast, Operation::reduce,
                                            Operation::allreduce,     Operation::allreduce, Operation::allgather,
                                            Operation::gather,        Operation::scatter,   Operation::reduce_scatter,
                                            Operation::all_to_all,    Operation::scan,      Operation::exscan,
                                            Operation::general_reduce};
    return of_kind[static_cast<std::size_t>(kind)];
  }
  /// The algorithm that is named, if one is: one that can do it on those hosts.
  std::string_view named_algorithm(const schedule::Hosts& hosts) const {
    if (algorithm == 0) return {};
    schedule::Shape shape;
    shape.operation = operation();
    shape.size = group.size();
    shape.hosts = hosts;
    shape.reproducible = is_reproducible && schedule::is_reduction(shape.operation);
    shape.commutative = kind != Kind::user_allreduce && !shape.reproducible;
    if (kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::gather || kind == Kind::scatter) {
      shape.root = root;
    }
    if (kind == Kind::general_reduce) {
      const ReduceGroups groups = roles();
      shape.contributors = groups.participants();
      shape.inner_receivers = groups.inner_receivers();
    }
    std::vector<std::string_view> names = algorithms_for(shape);
    if (has_list()) {
      std::erase_if(names, [](std::string_view name) {
        return !name.empty() && schedule::find_algorithm(name).needs_equal_blocks();
      });
    }
    return names[algorithm % names.size()];
  }

  /// Elements that a rank passes.
  std::size_t input_size(Rank me) const {
    switch (kind) {
      case Kind::barrier: return 0;
      case Kind::gather:
      case Kind::allgather: return block(me);
      case Kind::scatter: return me == root ? begin(group.size()) : 0;
      case Kind::reduce_scatter:
      case Kind::all_to_all: return begin(group.size());
      case Kind::general_reduce: return me <= root ? count : 0;
      default: return count;
    }
  }
  std::size_t output_size(Rank me) const {
    switch (kind) {
      case Kind::barrier: return 0;
      case Kind::reduce: return me == root ? count : 0;
      case Kind::gather: return me == root ? begin(group.size()) : 0;
      case Kind::scatter:
      case Kind::reduce_scatter: return block(me);
      case Kind::allgather:
      case Kind::all_to_all: return begin(group.size());
      case Kind::general_reduce: return roles().receives(group.node(me)) ? count : 0;
      default: return count;
    }
  }
};

struct Program {
  std::uint32_t nodes;
  std::uint64_t salt;
  std::vector<Instruction> instructions;
};

/// A few mostly, now and then as many as are lent, or are large.
inline std::size_t random_count(Random& random, std::size_t most_elements) {
  switch (random.below(6)) {
    case 0: return 700 + random.below(most_elements - 700);
    case 1: return 12 + random.below(700 - 12);
    default: return random.below(12);
  }
}

/// Vectors have up to `most_elements`, most of them a few only.
inline Program random_program(std::uint64_t seed, std::uint32_t least_nodes, std::uint32_t most_nodes,
                              std::size_t instructions, std::size_t most_elements = 2700) {
  Random random(seed);
  Program program{static_cast<std::uint32_t>(least_nodes + random.below(most_nodes - least_nodes + 1)), seed, {}};
  const auto some_group = [&] {
    return random_group(random, program.nodes, static_cast<std::uint32_t>(1 + random.below(program.nodes)));
  };
  const std::vector<Group> groups{some_group(), some_group()};
  for (std::size_t i = 0; i < instructions; ++i) {
    const Group group = random.below(3) == 0 ? some_group() : groups[random.below(groups.size())];
    Instruction instruction{static_cast<Instruction::Kind>(random.below(Instruction::kinds)),
                            group,
                            random.below(3),
                            random_count(random, most_elements),
                            static_cast<Rank>(random.below(group.size())),
                            Instruction::Start::at_once,
                            0,
                            0,
                            0};
    // Calls that are alike share more than others.
    if (i > 0 && random.below(2) == 0) instruction = program.instructions[random.below(i)];
    if (i > 0) instruction.start = static_cast<Instruction::Start>(random.below(4));
    if (i > 0) instruction.earlier = random.below(i);
    instruction.trigger_node = static_cast<NodeId>(random.below(program.nodes));
    instruction.delay = random.below(2) == 0 ? 0 : random.unit() * 5e-6;
    if (random.below(3) == 0) instruction.is_listed = !instruction.is_listed;
    instruction.is_awaited = random.below(3) == 0;
    instruction.is_in_place = random.below(3) == 0;
    instruction.is_reproducible = random.below(4) == 0;
    instruction.shards = random.below(4) == 0 ? 3 : 0;
    instruction.algorithm = random.below(3) == 0 ? random.below(100) : 0;
    instruction.memory = random.below(std::uint64_t{1} << 32U);
    program.instructions.push_back(std::move(instruction));
  }
  return program;
}

}  // namespace stretto::test
