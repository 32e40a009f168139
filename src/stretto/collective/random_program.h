#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"

/// For tests: random programs of events and collectives, and the checker that knows what they must give.
namespace stretto::test {

/// What a node does wrong, to show that the checker sees it.
enum class Sabotage : std::uint8_t { none, wrong_input, calls_in_wrong_order, early_trigger };

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
  std::uint32_t shards_of(NodeId node) const { return kind == Kind::allreduce && shards > 0 ? 1 + node % shards : 0; }
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
                            random.below(6) == 0 ? 700 + random.below(most_elements - 700) : random.below(12),
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

/// How a seed's failure is seen again.
inline std::string replay(std::uint64_t seed) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return "seed " + std::to_string(seed) + "; replay: STRETTO_TEST_SEED=" + std::to_string(seed) +
         " collective_test --gtest_filter=" + test.test_suite_name() + "." + test.name();
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
  using Values = std::vector<std::uint64_t>;

  struct Slot {
    Values of_user[2];
    SegmentArray<std::uint64_t> in_segment[2];
    std::span<std::uint64_t> input;  // of those
    std::span<std::uint64_t> output;
    std::vector<Values> shards;
    Event event;
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
      case Kind::user_allreduce: return allreduce(node_, group, input, output, bitwise, options);
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
    for (std::size_t e = 0; e < slot.input.size(); ++e) slot.input[e] = given(i, node_.id(), e);
    if (sabotage_ == Sabotage::wrong_input && !slot.input.empty()) slot.input.back() ^= 1U;
    slot.output = what.has_one_buffer() ? slot.input : make_buffer(i, 1, what.output_size(me));
    for (std::uint32_t shard = 0; shard < what.shards_of(node_.id()); ++shard) {
      slot.shards.push_back(given(i, node_.id(), (shard + 1) * what.count, what.count));
    }
  }

  static constexpr auto bitwise = [](std::uint64_t a, std::uint64_t b) { return a ^ b; };

  Values given(std::size_t i, NodeId node, std::size_t first, std::size_t count) const {
    Values result(count);
    for (std::size_t e = 0; e < count; ++e) result[e] = given(i, node, first + e);
    return result;
  }

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

  // What a rank that gets something gets.
  Values expected(std::size_t i) const {
    using Kind = Instruction::Kind;
    const Instruction& what = program_.instructions[i];
    const Group& group = what.group;
    const Rank me = group.rank_of(node_.id());
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

  std::string describe(std::size_t i) const {
    const Instruction& what = program_.instructions[i];
    return "node " + std::to_string(node_.id()) + ", instruction " + std::to_string(i) + " (kind " +
           std::to_string(static_cast<int>(what.kind)) + ", " + std::to_string(what.group.size()) + " members, " +
           std::to_string(what.count) + " elements)";
  }

  std::string complaint(std::size_t i) const {
    const std::span<const std::uint64_t> is = slots_[i].output;
    if (is.empty()) return "";
    const Values should_be = expected(i);
    for (std::size_t e = 0; e < is.size(); ++e) {
      if (is[e] != should_be[e]) return describe(i) + " has a wrong element " + std::to_string(e) + "\n";
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
