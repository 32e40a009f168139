#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/program_call.h"
#include "stretto/collective/program_values.h"
#include "stretto/collective/random_program.h"
#include "stretto/collective/test_support.h"

/// For tests: runs of random programs, and their checker.
namespace stretto::test {

/// What a node does wrong, to show that the checker sees it.
enum class Sabotage : std::uint8_t {
  none,
  wrong_input,     ///< its last element
  wrong_operator,  ///< where that is the user's
  other_segments,  ///< than the others, where an algorithm is named
  written_input,   ///< the first element, when all is over
  written_output,  ///< likewise
  calls_in_wrong_order,
  early_trigger,
};

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
      if (!program_.instructions[i].is_called_by(node_.id())) continue;
      const std::string said = co_await outcome(slots_[i].event);
      if (said.empty()) {
        ++clean_;
        spoil(slots_[i].buffers);
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
    ProgramBuffers buffers;
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
    if (!what.is_called_by(node_.id())) co_return;
    prepare(i);
    slots_[i].event = call(i);
    if (sabotage_ == Sabotage::early_trigger) slots_[i].event = no_event;
  }

  Event call(std::size_t i) {
    const Instruction& what = program_.instructions[i];
    const Slot& slot = slots_[i];
    Instruction::Named named = what.named(CollectiveService::of(node_).hosts_of(what.callers()));
    if (sabotage_ == Sabotage::other_segments) ++named.segments;
    CollectiveOptions options;
    options.key(what.key).after(precondition(i)).algorithm(named.name, named.segments);
    if (what.is_reproducible) options.reproducible();
    if (!what.auxiliaries.empty()) options.auxiliaries(Group(what.auxiliaries));
    const ComposeWords of_user{sabotage_ == Sabotage::wrong_operator ? 1U : 0U};
    return ProgramCall{node_, what, slot.buffers.input(), slot.buffers.output(), slot.shards, of_user, options}.start();
  }

  // What this node passes as its input.
  std::uint64_t passed(std::size_t i, std::size_t element, std::size_t count) const {
    const bool is_wrong = sabotage_ == Sabotage::wrong_input && element + 1 == count;
    return values_.given(i, node_.id(), element) ^ (is_wrong ? 1U : 0U);
  }
  Values passed_shard(std::size_t i, std::size_t shard) const {
    const std::size_t count = program_.instructions[i].count;
    return values_.given(i, node_.id(), (shard + 1) * count, count);
  }

  void prepare(std::size_t i) {
    const Instruction& what = program_.instructions[i];
    Slot& slot = slots_[i];
    slot.buffers = ProgramBuffers(node_, what);
    const std::span<std::uint64_t> input = slot.buffers.input();
    for (std::size_t e = 0; e < input.size(); ++e) input[e] = passed(i, e, input.size());
    for (std::size_t shard = 0; shard < what.shards_of(node_.id()); ++shard) {
      slot.shards.push_back(passed_shard(i, shard));
    }
  }

  void spoil(const ProgramBuffers& buffers) const {
    if (sabotage_ == Sabotage::written_input && !buffers.input().empty()) buffers.input().front() ^= 1U;
    if (sabotage_ == Sabotage::written_output && !buffers.output().empty()) buffers.output().front() ^= 1U;
  }

  std::string describe(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    return "node " + std::to_string(node_.id()) + ", instruction " + std::to_string(i) + " (" +
           std::string(schedule::name_of(what.operation)) + ", " + std::to_string(what.group.size()) + " members, " +
           std::to_string(what.count) + " elements)";
  }

  std::string complaint(std::size_t i) const {
    const std::string of_output = complaint_of_output(i);
    return of_output.empty() ? complaint_of_input(i) : of_output;
  }

  std::string complaint_of_output(std::size_t i) const {
    const std::span<const std::uint64_t> is = slots_[i].buffers.output();
    if (is.empty()) return "";
    const Values should_be = values_.expected(i, node_.id());
    for (std::size_t e = 0; e < is.size(); ++e) {
      if (is[e] != should_be[e]) return describe(i) + " has a wrong element " + std::to_string(e) + "\n";
    }
    return "";
  }

  // It is only read, but for where the output lies.
  std::string complaint_of_input(std::size_t i) const {
    const Slot& slot = slots_[i];
    const std::span<const std::uint64_t> input = slot.buffers.input();
    for (std::size_t e = 0; e < input.size(); ++e) {
      if (slot.buffers.is_output(e) || input[e] == passed(i, e, input.size())) continue;
      return describe(i) + " has had element " + std::to_string(e) + " of its input written\n";
    }
    for (std::size_t shard = 0; shard < slot.shards.size(); ++shard) {
      if (slot.shards[shard] != passed_shard(i, shard)) {
        return describe(i) + " has had shard " + std::to_string(shard + 1) + " written\n";
      }
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
