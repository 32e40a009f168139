#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/group.h"
#include "stretto/collective/instruction.h"
#include "stretto/collective/test_support.h"

/// For tests: random programs of events and collectives; program_run.h runs them.
namespace stretto::test {

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

/// For the most part the built-in one.
inline Instruction::Operator random_operator(Random& random) {
  switch (random.below(5)) {
    case 0: return Instruction::Operator::of_user;
    case 1: return Instruction::Operator::as_task;
    default: return Instruction::Operator::sum;
  }
}

/// Some of the nodes that are not in the group, if there are such, for every third allreduce.
inline std::vector<NodeId> random_auxiliaries(Random& random, const Instruction& instruction, std::uint32_t nodes) {
  std::vector<NodeId> outside;
  if (instruction.operation != schedule::Operation::allreduce || random.below(3) != 0) return outside;
  for (NodeId node = 0; node < nodes; ++node) {
    if (!instruction.group.contains(node)) outside.push_back(node);
  }
  if (!outside.empty()) outside.resize(1 + random.below(outside.size()));
  return outside;
}

/// Something for a group to do, at once.
inline Instruction random_instruction(Random& random, const Group& group, std::uint32_t nodes,
                                      std::size_t most_elements) {
  Instruction instruction{static_cast<schedule::Operation>(random.below(Instruction::operations)),
                          group,
                          random.below(3),
                          random_count(random, most_elements),
                          static_cast<Rank>(random.below(group.size())),
                          Instruction::Start::at_once,
                          0,
                          0,
                          0};
  instruction.op = random_operator(random);
  instruction.auxiliaries = random_auxiliaries(random, instruction, nodes);
  return instruction;
}

/// Has it called in any way, after any of the `before` instructions before it.
inline void call_anyhow(Random& random, Instruction& instruction, std::uint32_t nodes, std::size_t before) {
  const auto some_nodes = [&] { return random.below(std::uint64_t{1} << 32U); };
  if (before > 0) instruction.start = static_cast<Instruction::Start>(random.below(4));
  if (before > 0) instruction.earlier = random.below(before);
  instruction.trigger_node = static_cast<NodeId>(random.below(nodes));
  instruction.delay = random.below(2) == 0 ? 0 : random.unit() * 5e-6;
  if (random.below(3) == 0) instruction.is_listed = !instruction.is_listed;
  instruction.is_awaited = random.below(3) == 0;
  instruction.is_reproducible = random.below(4) == 0;
  instruction.in_place = random.below(2) == 0 ? 0 : random.below(2) == 0 ? ~std::uint64_t{0} : some_nodes();
  instruction.shards = random.below(4) == 0 ? 3 : 0;
  instruction.algorithm = random.below(3) == 0 ? random.below(100) : 0;
  instruction.segments = random.below(2) == 0 ? 0 : random.below(4);
  instruction.memory = some_nodes();
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
    Instruction instruction = random_instruction(random, group, program.nodes, most_elements);
    // Calls that are alike share more than others.
    if (i > 0 && random.below(2) == 0) instruction = program.instructions[random.below(i)];
    call_anyhow(random, instruction, program.nodes, i);
    program.instructions.push_back(std::move(instruction));
  }
  return program;
}

}  // namespace stretto::test
