#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/collective/group.h"
#include "stretto/collective/operators.h"
#include "stretto/collective/random_program.h"
#include "stretto/collective/test_support.h"

/// For tests: what goes into a random program, and what must come out.
namespace stretto::test {

class ProgramValues {
 public:
  using Values = std::vector<std::uint64_t>;

  /// The program outlives it.
  explicit ProgramValues(const Program& program) noexcept : program_(program) {}

  /// The user's operator.
  static constexpr auto bitwise = [](std::uint64_t a, std::uint64_t b) { return a ^ b; };

  /// What a node passes to instruction `i`.
  std::uint64_t given(std::size_t i, NodeId node, std::size_t element) const {
    return contribution(program_.salt * 1000 + i, node, element);
  }
  Values given(std::size_t i, NodeId node, std::size_t first, std::size_t count) const {
    Values result(count);
    for (std::size_t e = 0; e < count; ++e) result[e] = given(i, node, first + e);
    return result;
  }

  /// What a node gets from it, if it gets something.
  Values expected(std::size_t i, NodeId node) const {
    using Kind = Instruction::Kind;
    const Instruction& what = program_.instructions[i];
    const Group& group = what.group;
    const Rank me = group.rank_of(node);
    switch (what.kind) {
      case Kind::barrier: return {};
      case Kind::broadcast: return given(i, group.node(what.root), 0, what.count);
      case Kind::reduce:
      case Kind::allreduce: return combined(i, group, 0, what.count, sum);
      case Kind::user_allreduce: return combined(i, group, 0, what.count, bitwise);
      case Kind::allgather:
      case Kind::gather: return gathered(i, 0);
      case Kind::scatter: return given(i, group.node(what.root), what.begin(me), what.block(me));
      case Kind::reduce_scatter: return combined(i, group, what.begin(me), what.block(me), sum);
      case Kind::all_to_all: return gathered(i, what.begin(me));
      case Kind::scan: return combined(i, first_ranks(group, me + 1), 0, what.count, sum);
      case Kind::exscan: return me == 0 ? Values(what.count) : combined(i, first_ranks(group, me), 0, what.count, sum);
      case Kind::general_reduce: break;
    }
    return combined(i, what.participants(), 0, what.count, sum);
  }

 private:
  // What a node contributes to an element, its shards included.
  std::uint64_t term(std::size_t i, NodeId node, std::size_t element) const {
    const Instruction& what = program_.instructions[i];
    std::uint64_t result = given(i, node, element);
    for (std::uint32_t shard = 0; shard < what.shards_of(node); ++shard) {
      result += given(i, node, (shard + 1) * what.count + element);
    }
    return result;
  }

  template <class Op>
  Values combined(std::size_t i, const Group& terms, std::size_t first, std::size_t count, const Op& op) const {
    Values result(count);
    for (std::size_t e = 0; e < count; ++e) {
      result[e] = serial(terms, op, [&](NodeId member) { return term(i, member, first + e); });
    }
    return result;
  }

  // Each rank's block, that from `first` on of what it gives.
  Values gathered(std::size_t i, std::size_t first) const {
    const Instruction& what = program_.instructions[i];
    Values result;
    for (Rank rank = 0; rank < what.group.size(); ++rank) {
      const Values block = given(i, what.group.node(rank), first, what.block(rank));
      result.insert(result.end(), block.begin(), block.end());
    }
    return result;
  }

  const Program& program_;
};

}  // namespace stretto::test
