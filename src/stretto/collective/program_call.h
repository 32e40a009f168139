#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/instruction.h"
#include "stretto/collective/test_operators.h"
#include "stretto/core/segment_array.h"

/// For tests: how a node calls an instruction of a random program.
namespace stretto::test {

/// A caller's memory: as the instruction says in its segment or not, in place or apart. Zeros at first.
class ProgramBuffers {
 public:
  ProgramBuffers() = default;
  ProgramBuffers(Node& node, const Instruction& what) {
    const std::size_t in = what.input_size(node.id());
    const std::size_t out = what.output_size(node.id());
    if (!what.is_in_place_at(node.id())) {
      input_ = make(node, what, 0, in);
      output_ = make(node, what, 1, out);
      return;
    }
    const std::span<std::uint64_t> larger = make(node, what, 0, std::max(in, out));
    const Rank me = what.group.rank_of(node.id());
    const std::size_t begin = in == out ? 0 : Instruction::begin(what.blocks(), me);
    const std::span<std::uint64_t> smaller = larger.subspan(begin, std::min(in, out));
    input_ = in < out ? smaller : larger;
    output_ = in < out ? larger : smaller;
  }

  std::span<std::uint64_t> input() const { return input_; }
  std::span<std::uint64_t> output() const { return output_; }
  /// Whether an element of the input is one of the output, too.
  bool is_output(std::size_t element) const {
    const std::uint64_t* const its = input_.data() + element;
    return !output_.empty() && its >= output_.data() && its < output_.data() + output_.size();
  }

 private:
  // The input, or the only one, or (1) the output.
  std::span<std::uint64_t> make(Node& node, const Instruction& what, std::size_t which, std::size_t size) {
    const std::uint64_t bit = 2 * node.id() + which;
    if (size == 0 || (what.memory >> (bit % 32) & 1U) == 0) {
      of_user_[which].resize(size);
      return of_user_[which];
    }
    in_segment_[which] = SegmentArray<std::uint64_t>(node, size);
    std::ranges::fill(in_segment_[which], 0);
    return in_segment_[which];
  }

  std::vector<std::uint64_t> of_user_[2];
  SegmentArray<std::uint64_t> in_segment_[2];
  std::span<std::uint64_t> input_;  // of those
  std::span<std::uint64_t> output_;
};

/// One call.
struct ProgramCall {
  Node& node;
  const Instruction& what;
  std::span<const std::uint64_t> input;
  std::span<std::uint64_t> output;
  std::span<const std::vector<std::uint64_t>> shards;  ///< beyond the input
  ComposeWords of_user;
  CollectiveOptions options;

  Event start() const {
    if (!schedule::is_reduction(what.operation)) return what.has_list() ? move_listed() : move();
    switch (what.op) {
      case Instruction::Operator::sum: return combine(sum);
      case Instruction::Operator::of_user: return combine(of_user);
      case Instruction::Operator::as_task: break;
    }
    return combine(ByHalves<std::uint64_t, ComposeWords>{of_user});
  }

 private:
  using Operation = schedule::Operation;

  Event move() const {
    switch (what.operation) {
      case Operation::broadcast: return broadcast(node, what.group, output, what.root, options);
      case Operation::allgather: return allgather(node, what.group, input, output, options);
      case Operation::gather: return gather(node, what.group, input, output, what.root, options);
      case Operation::scatter: return scatter(node, what.group, input, output, what.root, options);
      case Operation::all_to_all: return all_to_all(node, what.group, input, output, options);
      default: return barrier(node, what.group, options);
    }
  }

  Event move_listed() const {
    const Instruction::Counts counts = what.blocks();
    switch (what.operation) {
      case Operation::allgather: return allgather(node, what.group, input, output, counts, options);
      case Operation::gather: return gather(node, what.group, input, output, counts, what.root, options);
      case Operation::scatter: return scatter(node, what.group, input, output, counts, what.root, options);
      default: break;
    }
    const Rank me = what.group.rank_of(node.id());
    return all_to_all(node, what.group, input, what.given_parts(me), output, what.received_parts(me), options);
  }

  template <class Op>
  Event combine(const Op& op) const {
    switch (what.operation) {
      case Operation::reduce: return reduce(node, what.group, input, output, op, what.root, options);
      case Operation::allreduce:
        return shards.empty() ? allreduce(node, what.group, input, output, op, options) : combine_shards(op);
      case Operation::scan: return scan(node, what.group, input, output, op, options);
      case Operation::exscan: return exscan(node, what.group, input, output, op, options);
      case Operation::reduce_scatter: break;
      default: return reduce(node, what.roles(), input, output, op, options);
    }
    if (!what.has_list()) return reduce_scatter(node, what.group, input, output, op, options);
    return reduce_scatter(node, what.group, input, output, what.blocks(), op, options);
  }

  template <class Op>
  Event combine_shards(const Op& op) const {
    std::vector<std::span<const std::uint64_t>> inputs{input};
    inputs.insert(inputs.end(), shards.begin(), shards.end());
    return allreduce(node, what.group, inputs, output, op, options);
  }
};

}  // namespace stretto::test
