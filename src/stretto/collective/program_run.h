#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/program_values.h"
#include "stretto/collective/random_program.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"

/// For tests: runs of random programs, and their checker.
namespace stretto::test {

/// What a node does wrong, to show that the checker sees it.
enum class Sabotage : std::uint8_t { none, wrong_input, calls_in_wrong_order, early_trigger };

/// A node's run of a program: starts everything, then looks at what came out.
class ProgramRun {
 public:
  /// `user_events[i]` is instruction i's, created by its trigger node, known to all before the run (names travel).
  ProgramRun(const Program& program, Node& node, std::vector<UserEvent>& user_events, Sabotage sabotage)
      : program_(program), node_(node), user_events_(user_events), sabotage_(sabotage) {}

  /// What is wrong with the outcome; empty if nothing is. With `deaths` an event may also be poisoned by peer_lost.
  Task<std::string> run(bool deaths) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) order.push_back(i);
    if (sabotage_ == Sabotage::calls_in_wrong_order) std::swap(order[0], order[1]);
    slots_.resize(order.size());
    for (const std::size_t i : order) {
      co_await start(i);
      if (program_.instructions[i].is_awaited) co_await outcome(slots_[i].event);
    }
    std::string complaints;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!program_.instructions[i].group.contains(node_.id())) continue;
      const std::string said = co_await outcome(slots_[i].event);
      if (said.empty()) {
        ++clean_;
        complaints += complaint(i);
      } else if (deaths && said.rfind("peer_lost: ", 0) == 0) {
        ++lost_;
      } else {
        complaints += describe(i) + " was poisoned: " + said + "\n";
      }
    }
    co_return complaints;
  }

  std::size_t clean() const { return clean_; }
  std::size_t lost() const { return lost_; }

 private:
  using Values = ProgramValues::Values;

  struct Slot {
    Values of_user[2];
    SegmentArray<std::uint64_t> in_segment[2];
    std::span<std::uint64_t> input;  // of those
    std::span<std::uint64_t> output;
    std::vector<Values> shards;
    Event event;
  };

  Event precondition(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    const Event earlier = slots_[what.earlier].event;  // no event where this node took no part
    switch (what.start) {
      case Instruction::Start::at_once: return no_event;
      case Instruction::Start::after_earlier: return earlier;
      case Instruction::Start::after_user_event: return user_events_[i];
      case Instruction::Start::after_merge: break;
    }
    return node_.merge({earlier, user_events_[i]});
  }

  Task<> start(std::size_t i) {
    const Instruction& what = program_.instructions[i];
    const bool uses_event =
        what.start == Instruction::Start::after_user_event || what.start == Instruction::Start::after_merge;
    if (what.delay > 0) node_.charge(what.delay * (1 + node_.id() % 3));
    // Some time later, and through a task, so that nodes get to this point in any order.
    if (uses_event && what.trigger_node == node_.id()) {
      node_.spawn([this, i] {
        node_.charge(program_.instructions[i].delay);
        node_.trigger(user_events_[i]);
      });
    }
    if (!what.group.contains(node_.id())) co_return;
    prepare(i);
    const schedule::Hosts hosts = CollectiveService::of(node_).hosts_of(what.group);
    CollectiveOptions options;
    options.key(what.key).after(precondition(i)).algorithm(what.named_algorithm(hosts));
    if (what.is_reproducible) options.reproducible();
    slots_[i].event = call(i, options);
    if (sabotage_ == Sabotage::early_trigger) slots_[i].event = no_event;
  }

  Event call(std::size_t i, const CollectiveOptions& options) {
    using Kind = Instruction::Kind;
    const Instruction& what = program_.instructions[i];
    const Group& group = what.group;
    const std::span<std::uint64_t> input = slots_[i].input;
    const std::span<std::uint64_t> output = slots_[i].output;
    if (what.has_list()) return call_with_list(i, options);
    if (what.shards_of(node_.id()) > 0) return call_with_shards(i, options);
    switch (what.kind) {
      case Kind::barrier: return barrier(node_, group, options);
      case Kind::broadcast: return broadcast(node_, group, output, what.root, options);
      case Kind::reduce: return reduce(node_, group, input, output, sum, what.root, options);
      case Kind::allreduce: return allreduce(node_, group, input, output, sum, options);
      case Kind::user_allreduce: return allreduce(node_, group, input, output, ProgramValues::bitwise, options);
      case Kind::allgather: return allgather(node_, group, input, output, options);
      case Kind::gather: return gather(node_, group, input, output, what.root, options);
      case Kind::scatter: return scatter(node_, group, input, output, what.root, options);
      case Kind::reduce_scatter: return reduce_scatter(node_, group, input, output, sum, options);
      case Kind::all_to_all: return all_to_all(node_, group, input, output, options);
      case Kind::scan: return scan(node_, group, input, output, sum, options);
      case Kind::exscan: return exscan(node_, group, input, output, sum, options);
      case Kind::general_reduce: break;
    }
    return reduce(node_, what.roles(), input, output, sum, options);
  }

  Event call_with_list(std::size_t i, const CollectiveOptions& options) {
    using Kind = Instruction::Kind;
    const Instruction& what = program_.instructions[i];
    const std::span<std::uint64_t> input = slots_[i].input;
    const std::span<std::uint64_t> output = slots_[i].output;
    const std::vector<std::size_t> counts = what.blocks();
    switch (what.kind) {
      case Kind::gather: return gather(node_, what.group, input, output, counts, what.root, options);
      case Kind::scatter: return scatter(node_, what.group, input, output, counts, what.root, options);
      case Kind::allgather: return allgather(node_, what.group, input, output, counts, options);
      default: return reduce_scatter(node_, what.group, input, output, counts, sum, options);
    }
  }

  Event call_with_shards(std::size_t i, const CollectiveOptions& options) {
    const Instruction& what = program_.instructions[i];
    std::vector<std::span<const std::uint64_t>> inputs{slots_[i].input};
    inputs.insert(inputs.end(), slots_[i].shards.begin(), slots_[i].shards.end());
    return allreduce(node_, what.group, inputs, slots_[i].output, sum, options);
  }

  // The input, or (1) the output.
  std::span<std::uint64_t> make_buffer(std::size_t i, std::size_t which, std::size_t size) {
    Slot& slot = slots_[i];
    const std::uint64_t bit = 2 * node_.id() + which;
    if (size > 0 && (program_.instructions[i].memory >> (bit % 32) & 1U) != 0) {
      slot.in_segment[which] = SegmentArray<std::uint64_t>(node_, size);
      std::ranges::fill(slot.in_segment[which], 0);
      return slot.in_segment[which];
    }
    return slot.of_user[which] = Values(size);
  }

  void prepare(std::size_t i) {
    const Instruction& what = program_.instructions[i];
    const Rank me = what.group.rank_of(node_.id());
    Slot& slot = slots_[i];
    slot.input = make_buffer(i, 0, what.input_size(me));
    for (std::size_t e = 0; e < slot.input.size(); ++e) slot.input[e] = values_.given(i, node_.id(), e);
    if (sabotage_ == Sabotage::wrong_input && !slot.input.empty()) slot.input.back() ^= 1U;
    slot.output = what.has_one_buffer() ? slot.input : make_buffer(i, 1, what.output_size(me));
    for (std::uint32_t shard = 0; shard < what.shards_of(node_.id()); ++shard) {
      slot.shards.push_back(values_.given(i, node_.id(), (shard + 1) * what.count, what.count));
    }
  }

  std::string describe(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    return "node " + std::to_string(node_.id()) + ", instruction " + std::to_string(i) + " (kind " +
           std::to_string(static_cast<int>(what.kind)) + ", " + std::to_string(what.group.size()) + " members, " +
           std::to_string(what.count) + " elements)";
  }

  std::string complaint(std::size_t i) const {
    const std::span<const std::uint64_t> is = slots_[i].output;
    if (is.empty()) return "";
    const Values should_be = values_.expected(i, node_.id());
    for (std::size_t e = 0; e < is.size(); ++e) {
      if (is[e] != should_be[e]) return describe(i) + " has a wrong element " + std::to_string(e) + "\n";
    }
    return "";
  }

  const Program& program_;
  ProgramValues values_{program_};
  Node& node_;
  std::vector<UserEvent>& user_events_;
  Sabotage sabotage_;
  std::vector<Slot> slots_;
  std::size_t clean_ = 0;
  std::size_t lost_ = 0;
};

}  // namespace stretto::test
