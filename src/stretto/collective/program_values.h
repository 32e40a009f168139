#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/collective/group.h"
#include "stretto/collective/operators.h"
#include "stretto/collective/random_program.h"
#include "stretto/collective/test_operators.h"
#include "stretto/collective/test_support.h"

/// For tests: what goes into a random program, and what must come out.
namespace stretto::test {

class ProgramValues {
 public:
  using Values = std::vector<std::uint64_t>;

  /// The program outlives it.
  explicit ProgramValues(const Program& program) noexcept : program_(program) {}

  /// What a node passes to instruction `i`; of an allreduce, one of its shards after the other.
  std::uint64_t given(std::size_t i, NodeId node, std::size_t element) const {
    return contribution(program_.salt * 1000 + i, node, element);
  }
  Values given(std::size_t i, NodeId node, std::size_t first, std::size_t count) const {
    Values result(count);
    for (std::size_t e = 0; e < count; ++e) result[e] = given(i, node, first + e);
    return result;
  }

  /// What its output must have in the end, if it has one.
  Values expected(std::size_t i, NodeId node) const {
    using Operation = schedule::Operation;
    const Instruction& what = program_.instructions[i];
    const Group& group = what.group;
    const Rank me = group.rank_of(node);
    const auto begin = [&] { return Instruction::begin(what.blocks(), me); };
    if (!what.is_written(node)) return untouched(i, node);
    switch (what.operation) {
      case Operation::barrier: return {};
      case Operation::broadcast: return given(i, group.node(what.root), 0, what.count);
      case Operation::reduce:
      case Operation::allreduce: return combined(i, group, 0, what.count);
      case Operation::allgather:
      case Operation::gather: return gathered(i);
      case Operation::scatter: return given(i, group.node(what.root), begin(), what.blocks()[me]);
      case Operation::reduce_scatter: return combined(i, group, begin(), what.blocks()[me]);
      case Operation::all_to_all: return exchanged(i, me);
      case Operation::scan: return combined(i, first_ranks(group, me + 1), 0, what.count);
      case Operation::exscan: return combined(i, first_ranks(group, me), 0, what.count);
      case Operation::general_reduce: break;
    }
    return combined(i, what.participants(), 0, what.count);
  }

 private:
  std::uint64_t combine(std::size_t i, std::uint64_t a, std::uint64_t b) const {
    return program_.instructions[i].op == Instruction::Operator::sum ? a + b : ComposeWords()(a, b);
  }

  // What a node contributes to an element, its shards included.
  std::uint64_t term(std::size_t i, NodeId node, std::size_t element) const {
    const Instruction& what = program_.instructions[i];
    std::uint64_t result = given(i, node, element);
    for (std::uint32_t shard = 0; shard < what.shards_of(node); ++shard) {
      result = combine(i, result, given(i, node, (shard + 1) * what.count + element));
    }
    return result;
  }

  Values combined(std::size_t i, const Group& terms, std::size_t first, std::size_t count) const {
    const auto op = [&](std::uint64_t a, std::uint64_t b) { return combine(i, a, b); };
    Values result(count);
    for (std::size_t e = 0; e < count; ++e) {
      result[e] = serial(terms, op, [&](NodeId member) { return term(i, member, first + e); });
    }
    return result;
  }

  // Of who gets nothing: as it was before.
  Values untouched(std::size_t i, NodeId node) const {
    const std::size_t count = program_.instructions[i].output_size(node);
    return program_.instructions[i].is_in_place_at(node) ? given(i, node, 0, count) : Values(count);
  }

  // Each rank's block.
  Values gathered(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    Values result;
    for (Rank rank = 0; rank < what.group.size(); ++rank) {
      const Values block = given(i, what.group.node(rank), 0, what.blocks()[rank]);
      result.insert(result.end(), block.begin(), block.end());
    }
    return result;
  }

  // The part for `me` of what each rank gives.
  Values exchanged(std::size_t i, Rank me) const {
    const Instruction& what = program_.instructions[i];
    Values result;
    for (Rank rank = 0; rank < what.group.size(); ++rank) {
      const Instruction::Counts parts = what.given_parts(rank);
      const Values part = given(i, what.group.node(rank), Instruction::begin(parts, me), parts[me]);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

  const Program& program_;
};

}  // namespace stretto::test
