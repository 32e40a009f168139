#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

/// For tests: random programs of events and collectives, and the checker that knows what they must give.
namespace stretto::test {

/// What a node does wrong, to show that the checker sees it.
enum class Sabotage : std::uint8_t { none, wrong_input, calls_in_wrong_order, early_trigger };

/// One collective of a program, the same on all nodes.
struct Instruction {
  enum class Kind : std::uint8_t { barrier, broadcast, reduce, allreduce, user_allreduce, allgather };
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
};

struct Program {
  std::uint32_t nodes;
  std::uint64_t salt;
  std::vector<Instruction> instructions;
};

inline Program random_program(std::uint64_t seed, std::uint32_t least_nodes, std::uint32_t most_nodes,
                              std::size_t instructions) {
  Random random(seed);
  Program program{static_cast<std::uint32_t>(least_nodes + random.below(most_nodes - least_nodes + 1)), seed, {}};
  for (std::size_t i = 0; i < instructions; ++i) {
    const auto members = static_cast<std::uint32_t>(1 + random.below(program.nodes));
    Instruction instruction{static_cast<Instruction::Kind>(random.below(6)),
                            random_group(random, program.nodes, members),
                            random.below(3),
                            random.below(6) == 0 ? 700 + random.below(2000) : random.below(12),
                            static_cast<Rank>(random.below(members)),
                            i == 0 ? Instruction::Start::at_once : static_cast<Instruction::Start>(random.below(4)),
                            i == 0 ? 0 : random.below(i),
                            static_cast<NodeId>(random.below(program.nodes)),
                            random.below(2) == 0 ? 0 : random.unit() * 5e-6};
    program.instructions.push_back(std::move(instruction));
  }
  return program;
}

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
    for (const std::size_t i : order) co_await start(i);
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
  struct Slot {
    std::vector<std::uint64_t> input;
    std::vector<std::uint64_t> output;
    Event event;
    Event trigger;
  };

  std::uint64_t given(std::size_t i, NodeId node, std::size_t element) const {
    return contribution(program_.salt * 1000 + i, node, element);
  }

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
    Slot& slot = slots_[i];
    prepare(i, slot);
    const CollectiveOptions options = CollectiveOptions().key(what.key).after(precondition(i));
    const std::span<const std::uint64_t> input(slot.input);
    const std::span<std::uint64_t> output(slot.output);
    switch (what.kind) {
      case Instruction::Kind::barrier: slot.event = barrier(node_, what.group, options); break;
      case Instruction::Kind::broadcast: slot.event = broadcast(node_, what.group, output, what.root, options); break;
      case Instruction::Kind::reduce:
        slot.event = reduce(node_, what.group, input, output, sum, what.root, options);
        break;
      case Instruction::Kind::allreduce: slot.event = allreduce(node_, what.group, input, output, sum, options); break;
      case Instruction::Kind::user_allreduce: {
        const auto bitwise = [](std::uint64_t a, std::uint64_t b) { return a ^ b; };
        slot.event = allreduce(node_, what.group, input, output, bitwise, options);
        break;
      }
      case Instruction::Kind::allgather: slot.event = allgather(node_, what.group, input, output, options); break;
    }
    if (sabotage_ == Sabotage::early_trigger) slot.event = no_event;
  }

  void prepare(std::size_t i, Slot& slot) const {
    const Instruction& what = program_.instructions[i];
    if (what.kind == Instruction::Kind::barrier) return;
    slot.input.resize(what.count);
    for (std::size_t e = 0; e < what.count; ++e) slot.input[e] = given(i, node_.id(), e);
    if (sabotage_ == Sabotage::wrong_input && what.count > 0) slot.input.back() ^= 1U;
    slot.output.resize(what.count * (what.kind == Instruction::Kind::allgather ? what.group.size() : 1));
    if (what.kind == Instruction::Kind::broadcast && what.group.rank_of(node_.id()) == what.root) {
      slot.output = slot.input;
    }
  }

  std::uint64_t expected(std::size_t i, std::size_t element) const {
    const Instruction& what = program_.instructions[i];
    const auto of = [&](NodeId member) { return given(i, member, element); };
    switch (what.kind) {
      case Instruction::Kind::broadcast: return of(what.group.node(what.root));
      case Instruction::Kind::user_allreduce:
        return serial(what.group, [](std::uint64_t a, std::uint64_t b) { return a ^ b; }, of);
      case Instruction::Kind::allgather:
        return given(i, what.group.node(static_cast<Rank>(element / what.count)), element % what.count);
      default: return serial(what.group, sum, of);
    }
  }

  std::string describe(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    return "node " + std::to_string(node_.id()) + ", instruction " + std::to_string(i) + " (kind " +
           std::to_string(static_cast<int>(what.kind)) + ", " + std::to_string(what.group.size()) + " members, " +
           std::to_string(what.count) + " elements)";
  }

  std::string complaint(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    if (what.kind == Instruction::Kind::reduce && what.group.rank_of(node_.id()) != what.root) return "";
    const Slot& slot = slots_[i];
    for (std::size_t e = 0; e < slot.output.size(); ++e) {
      if (slot.output[e] != expected(i, e)) return describe(i) + " has a wrong element " + std::to_string(e) + "\n";
    }
    return "";
  }

  const Program& program_;
  Node& node_;
  std::vector<UserEvent>& user_events_;
  Sabotage sabotage_;
  std::vector<Slot> slots_;
  std::size_t clean_ = 0;
  std::size_t lost_ = 0;
};

}  // namespace stretto::test
