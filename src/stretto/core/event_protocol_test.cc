#include "stretto/core/event_protocol.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/core/event_table.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using test::a_cause;

// How the network of a test misbehaves, so that the checks are seen to bite.
enum class Fault { none, drops_a_reply, echoes_to_triggerer, repeats_a_trigger };

// Nodes that run the protocol over a network that keeps messages in any order.
class Network {
 public:
  explicit Network(std::uint32_t nodes, Fault fault = Fault::none) : fault_(fault) {
    for (NodeId id = 0; id < nodes; ++id) nodes_.push_back(std::make_unique<Member>(id, nodes));
  }

  Event create(NodeId owner) { return nodes_[owner]->table.create(); }
  EventTable& table(NodeId node) { return nodes_[node]->table; }

  void observe(NodeId at, Event event, Waiter* waiter) {
    Member& node = *nodes_[at];
    if (event.owner() == at && !event.is_barrier()) {
      const EventState state = node.table.subscribe(event, waiter);
      if (state != EventState::untriggered) {
        waiter->fire(waiter, state == EventState::poisoned ? node.table.cause_of(event) : nullptr);
      }
      return;
    }
    run(at, [&](EventInstructions& out) { node.protocol.observe(event, waiter, out); });
  }

  bool trigger(NodeId at, Event event, const Cause& cause = nullptr) {
    if (event.owner() == at) return nodes_[at]->table.trigger(event, cause);
    bool first = false;
    run(at, [&](EventInstructions& out) { first = nodes_[at]->protocol.trigger_remote(event, cause, out); });
    return first;
  }

  void complete_barrier(Event event, const Cause& cause) {
    run(event.owner(),
        [&](EventInstructions& out) { nodes_[event.owner()]->protocol.complete_barrier(event, cause, out); });
  }

  // What `dead` has on its way still arrives, or not.
  void kill(NodeId dead, Random& random) {
    nodes_[dead]->alive = false;
    std::erase_if(messages_, [&](const Message& message) {
      return message.to == dead || (message.from == dead && random.below(2) == 0);
    });
  }
  // After it nothing arrives from there, as endpoints promise.
  void tell_of_death(NodeId told, NodeId dead) {
    std::erase_if(messages_, [&](const Message& message) { return message.to == told && message.from == dead; });
    run(told,
        [&](EventInstructions& out) { nodes_[told]->protocol.on_peer_lost(dead, a_cause(ErrorCode::peer_lost), out); });
  }
  bool alive(NodeId node) const { return nodes_[node]->alive; }

  std::size_t on_their_way() const { return messages_.size(); }
  std::uint64_t sent(Event event) const {
    const auto found = sent_.find(event);
    return found == sent_.end() ? 0 : found->second;
  }

  void deliver(std::size_t index) {
    const Message message = messages_[index];
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
    if (!nodes_[message.to]->alive) return;
    Member& node = *nodes_[message.to];
    run(message.to, [&](EventInstructions& out) {
      if (!message.is_trigger) {
        const EventState state = message.event.is_barrier() ? EventState::untriggered : node.table.query(message.event);
        node.protocol.on_subscribe(message.from, message.event, state != EventState::untriggered,
                                   state == EventState::poisoned ? node.table.cause_of(message.event) : nullptr, out);
      } else {
        node.protocol.on_trigger(message.from, message.event, message.subscribed, message.cause, out);
      }
    });
    if (message.is_trigger && message.event.owner() == message.to && fault_ == Fault::echoes_to_triggerer) {
      send({message.to, message.from, message.event, true, false, message.cause});
    }
  }
  void deliver_in_order() {
    while (!messages_.empty()) deliver(0);
  }
  void deliver_newest_first() {
    while (!messages_.empty()) deliver(messages_.size() - 1);
  }

 private:
  struct Member {
    Member(NodeId id, std::uint32_t nodes) : table(id), protocol(id, nodes) {}
    EventTable table;
    EventProtocol protocol;
    bool alive = true;
  };

  struct Message {
    NodeId from;
    NodeId to;
    Event event;
    bool is_trigger;
    bool subscribed;
    Cause cause;
  };

  struct Watch : Waiter {
    Watch(Network& owner, Event watched) noexcept : Waiter(&Watch::fired), network(owner), event(watched) {}
    static void fired(Waiter* waiter, const Cause& cause) noexcept {
      auto* const watch = static_cast<Watch*>(waiter);
      Network& network = watch->network;
      const Event event = watch->event;
      arena::destroy(watch);
      network.run(event.owner(), [&](EventInstructions& out) {
        network.nodes_[event.owner()]->protocol.on_local_trigger(event, cause, out);
      });
    }
    Network& network;
    Event event;
  };

  template <class F>
  void run(NodeId at, F&& call) {
    if (!nodes_[at]->alive) return;
    EventInstructions out;
    call(out);
    for (EventInstruction& instruction : out) carry_out(at, instruction);
  }

  void carry_out(NodeId at, EventInstruction& instruction) {
    switch (instruction.kind) {
      case EventInstruction::Kind::send_subscribe:
        send({at, instruction.node, instruction.event, false, false, nullptr});
        break;
      case EventInstruction::Kind::send_trigger:
        send({at, instruction.node, instruction.event, true, instruction.subscribed, instruction.cause});
        break;
      case EventInstruction::Kind::watch: {
        auto* const watch = arena::make<Watch>(*this, instruction.event);
        const EventState state = nodes_[at]->table.subscribe(instruction.event, watch);
        if (state != EventState::untriggered) Watch::fired(watch, nodes_[at]->table.cause_of(instruction.event));
        break;
      }
      case EventInstruction::Kind::trigger: nodes_[at]->table.trigger(instruction.event, instruction.cause); break;
      case EventInstruction::Kind::fire: fire_all(instruction.waiters, instruction.cause); break;
    }
  }

  void send(Message message) {
    const bool from_owner = message.is_trigger && message.from == message.event.owner();
    if (fault_ == Fault::drops_a_reply && from_owner && !dropped_) {
      dropped_ = true;
      return;
    }
    ++sent_[message.event];
    messages_.push_back(message);
    if (fault_ == Fault::repeats_a_trigger && from_owner) messages_.push_back(message), ++sent_[message.event];
  }

  Fault fault_;
  bool dropped_ = false;
  std::vector<std::unique_ptr<Member>> nodes_;
  std::vector<Message> messages_;
  std::map<Event, std::uint64_t> sent_;
};

struct Waiting {
  arena::Owned<test::Probe> probe = arena::make_owned<test::Probe>();
  NodeId at = 0;
  Event event;
};

TEST(EventProtocol, OneSubscriptionANodeAndTwiceNMinusTwoMessages) {
  for (const std::uint32_t nodes : {2U, 3U, 8U, 64U}) {
    for (const NodeId triggerer : {NodeId{0}, NodeId{1}, nodes - 1}) {
      for (const bool newest_first : {false, true}) {
        Network network(nodes);
        const Event event = network.create(0);
        std::vector<Waiting> waiting;
        for (NodeId at = 0; at < nodes; ++at) {
          for (int i = 0; i < 5; ++i) {
            waiting.push_back({arena::make_owned<test::Probe>(), at, event});
            network.observe(at, event, waiting.back().probe.get());
          }
        }
        EXPECT_EQ(network.on_their_way(), nodes - 1);  // one subscription each, whatever the number of waiters
        if (!newest_first) network.deliver_in_order();
        EXPECT_TRUE(network.trigger(triggerer, event));
        // Newest first, the trigger overtakes all subscriptions, the triggerer's own too.
        newest_first ? network.deliver_newest_first() : network.deliver_in_order();
        for (const Waiting& each : waiting) EXPECT_EQ(each.probe->fired, 1) << "node " << each.at;
        EXPECT_EQ(network.sent(event), 2 * nodes - 2) << nodes << " nodes, triggered at " << triggerer;
      }
    }
  }
}

TEST(EventProtocol, ALateSubscriptionIsAnsweredAtOnce) {
  Network network(2);
  const Event event = network.create(0);
  network.trigger(0, event);
  EXPECT_EQ(network.on_their_way(), 0U);
  Waiting late;
  network.observe(1, event, late.probe.get());
  EXPECT_EQ(late.probe->fired, 0);
  network.deliver(0);
  EXPECT_EQ(network.on_their_way(), 1U);
  network.deliver(0);
  EXPECT_EQ(late.probe->fired, 1);
}

// Also while nobody hears of it any more.
TEST(EventProtocol, AnEventIsWatchedOnce) {
  EventProtocol protocol(0, 3);
  const Event event(0, 1, 1);
  EventInstructions out;
  protocol.on_subscribe(1, event, false, nullptr, out);
  protocol.on_peer_lost(1, a_cause(ErrorCode::peer_lost), out);
  protocol.on_subscribe(2, event, false, nullptr, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out.front().kind, EventInstruction::Kind::watch);
  out.clear();
  protocol.on_local_trigger(event, nullptr, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out.front().node, 2U);
}

TEST(EventProtocol, ALaterGenerationProvesTheEarlierOnesClean) {
  Network network(2);
  const Event first = network.create(0);
  Waiting early;
  network.observe(1, first, early.probe.get());
  network.trigger(0, first);
  const Event second = network.create(0);
  ASSERT_EQ(second.slot(), first.slot());
  Waiting later;
  network.observe(1, second, later.probe.get());
  EXPECT_EQ(early.probe->fired, 1);  // without a message
  EXPECT_EQ(early.probe->cause, nullptr);
  EXPECT_EQ(later.probe->fired, 0);
  network.deliver_in_order();
  EXPECT_EQ(early.probe->fired, 1);
  network.trigger(0, second, a_cause(ErrorCode::io));
  network.deliver_in_order();
  EXPECT_EQ(test::code_of_cause(later.probe->cause), "io");
}

TEST(EventProtocol, ATriggerAtAnotherNodeIsSeenThereAtOnce) {
  Network network(3);
  const Event event = network.create(0);
  Waiting here;
  Waiting owner;
  Waiting third;
  network.observe(1, event, here.probe.get());
  network.observe(0, event, owner.probe.get());
  network.observe(2, event, third.probe.get());
  network.deliver_in_order();
  EXPECT_TRUE(network.trigger(1, event));
  EXPECT_EQ(here.probe->fired, 1);
  EXPECT_EQ(owner.probe->fired, 0);
  EXPECT_FALSE(network.trigger(1, event));  // twice: seen here
  network.deliver(0);
  EXPECT_EQ(owner.probe->fired, 1);
  EXPECT_EQ(network.on_their_way(), 1U);  // to the third alone
  network.deliver(0);
  EXPECT_EQ(third.probe->fired, 1);
}

TEST(EventProtocol, PhasesOfABarrierMayBeObservedInAnyOrder) {
  Network network(2);
  const auto phase = [](std::uint32_t generation) { return Event(0, Event::first_barrier_slot, generation); };
  Waiting fifth;
  Waiting third;
  Waiting third_at_owner;
  network.observe(1, phase(5), fifth.probe.get());
  network.observe(1, phase(3), third.probe.get());
  network.observe(0, phase(3), third_at_owner.probe.get());
  network.deliver_in_order();
  for (std::uint32_t generation = 1; generation <= 3; ++generation)
    network.complete_barrier(phase(generation), nullptr);
  network.deliver_in_order();
  EXPECT_EQ(third.probe->fired, 1);
  EXPECT_EQ(third_at_owner.probe->fired, 1);
  EXPECT_EQ(fifth.probe->fired, 0);
  network.complete_barrier(phase(4), a_cause(ErrorCode::io));
  network.deliver_in_order();
  EXPECT_EQ(fifth.probe->fired, 1);
  EXPECT_EQ(test::code_of_cause(fifth.probe->cause), "io");
  Waiting fourth;  // whoever asks for an earlier one later must not take it for clean
  network.observe(1, phase(4), fourth.probe.get());
  EXPECT_EQ(test::code_of_cause(fourth.probe->cause), "io");
}

TEST(EventProtocol, TheOutcomeOfALostOwnersEventsIsPeerLostUnlessKnown) {
  Network network(2);
  const Event known = network.create(0);
  const Event unknown = network.create(0);
  ASSERT_NE(known.slot(), unknown.slot());
  Waiting first;
  Waiting second;
  network.observe(1, known, first.probe.get());
  network.observe(1, unknown, second.probe.get());
  network.deliver_in_order();
  network.trigger(0, known);
  network.deliver_in_order();
  Random random(1);
  network.kill(0, random);
  network.tell_of_death(1, 0);
  EXPECT_EQ(test::code_of_cause(second.probe->cause), "peer_lost");
  Waiting again;
  network.observe(1, known, again.probe.get());
  EXPECT_EQ(again.probe->fired, 1);
  EXPECT_EQ(again.probe->cause, nullptr);
  Waiting late_phase;
  Waiting early_phase;
  network.observe(1, {0, Event::first_barrier_slot, 5}, late_phase.probe.get());
  network.observe(1, {0, Event::first_barrier_slot, 2}, early_phase.probe.get());
  EXPECT_EQ(test::code_of_cause(late_phase.probe->cause), "peer_lost");
  EXPECT_EQ(test::code_of_cause(early_phase.probe->cause), "peer_lost");
  EXPECT_TRUE(network.trigger(1, unknown));  // is no second trigger
}

// A random job: events with a triggerer and an outcome each, one barrier, waiters anywhere at any time, messages in any
// order, and, if wanted, a death. Returns what went wrong, or nothing.
class RandomJob {
 public:
  RandomJob(std::uint64_t seed, Fault fault, bool with_death)
      : random_(seed), nodes_(static_cast<std::uint32_t>(2 + random_.below(5))), network_(nodes_, fault) {
    if (with_death) victim_ = static_cast<NodeId>(random_.below(nodes_));
  }

  std::string run() {
    constexpr int steps = 300;
    const auto death = static_cast<int>(random_.below(steps));
    for (int step = 0; step < steps; ++step) {
      if (step == death && victim_ < nodes_) network_.kill(victim_, random_);
      one_step();
    }
    if (victim_ < nodes_) {
      for (NodeId node = 0; node < nodes_; ++node) {
        if (node != victim_) network_.tell_of_death(node, victim_);
      }
    }
    for (Known& known : events_) trigger(known);
    while (phases_done_ < phases_) complete_phase();
    while (network_.on_their_way() > 0) deliver();
    return check();
  }

 private:
  struct Known {
    Event event;
    NodeId triggerer = 0;
    Cause cause;
    bool triggered = false;
  };

  void one_step() {
    switch (random_.below(8)) {
      case 0: create(); break;
      case 1:
        if (!events_.empty()) trigger(events_[random_.below(events_.size())]);
        break;
      case 2:
        if (random_.below(6) == 0) complete_phase();
        break;
      case 3: observe_phase(); break;
      case 4:
      case 5: observe(); break;
      default: deliver(); break;
    }
  }

  void create() {
    const auto owner = static_cast<NodeId>(random_.below(nodes_));
    if (!network_.alive(owner)) return;
    Known known{network_.create(owner), static_cast<NodeId>(random_.below(nodes_)), nullptr, false};
    if (random_.below(5) == 0) known.cause = a_cause(ErrorCode::io);
    events_.push_back(known);
  }

  void trigger(Known& known) {
    if (known.triggered || !network_.alive(known.triggerer)) return;
    known.triggered = true;
    network_.trigger(known.triggerer, known.event, known.cause);
  }

  void observe() {
    if (events_.empty()) return;
    observe_at(static_cast<NodeId>(random_.below(nodes_)), events_[random_.below(events_.size())].event);
  }
  void observe_phase() {
    observe_at(static_cast<NodeId>(random_.below(nodes_)),
               phase(static_cast<std::uint32_t>(1 + random_.below(phases_ + 2))));
  }
  void observe_at(NodeId at, Event event) {
    if (!network_.alive(at)) return;
    waiting_.push_back({arena::make_owned<test::Probe>(), at, event});
    network_.observe(at, event, waiting_.back().probe.get());
  }

  // The last phase fails.
  void complete_phase() {
    if (phases_done_ == phases_) return;
    ++phases_done_;
    network_.complete_barrier(phase(phases_done_), phases_done_ == phases_ ? a_cause(ErrorCode::mismatch) : nullptr);
  }
  static Event phase(std::uint32_t generation) { return {0, Event::first_barrier_slot + 3, generation}; }

  void deliver() {
    if (network_.on_their_way() > 0) network_.deliver(random_.below(network_.on_their_way()));
  }

  std::string check() const {
    for (const Waiting& each : waiting_) {
      if (!network_.alive(each.at)) continue;
      const std::string problem = check(each);
      if (!problem.empty()) return problem;
    }
    for (const Known& known : events_) {
      if (network_.sent(known.event) > 2 * nodes_ - 2) {
        return std::to_string(network_.sent(known.event)) + " messages for an event of " + std::to_string(nodes_) +
               " nodes";
      }
    }
    return {};
  }

  std::string check(const Waiting& each) const {
    const std::string outcome = each.probe->fired == 0 ? "nothing" : test::code_of_cause(each.probe->cause);
    std::string expected = each.event.generation() < phases_ ? "none" : "mismatch";
    bool may_be_lost = each.event.owner() == victim_;
    bool may_be_silent = false;
    for (const Known& known : events_) {
      if (known.event != each.event) continue;
      expected = test::code_of_cause(known.cause);
      may_be_silent = known.triggerer == victim_;  // nobody else was to trigger it
    }
    if (each.probe->fired > 1) return "a waiter fired " + std::to_string(each.probe->fired) + " times";
    if (outcome == expected || (outcome == "peer_lost" && may_be_lost)) return {};
    if (outcome == "nothing" && may_be_silent && !may_be_lost) return {};
    return "a waiter at node " + std::to_string(each.at) + " got " + outcome + " instead of " + expected;
  }

  Random random_;
  std::uint32_t nodes_;
  Network network_;
  NodeId victim_ = max_nodes;
  std::vector<Known> events_;
  std::vector<Waiting> waiting_;
  static constexpr std::uint32_t phases_ = 5;
  std::uint32_t phases_done_ = 0;
};

TEST(EventProtocol, RandomJobsEndRightSeeds) {
  for (const std::uint64_t seed : test::seeds(3000)) {
    ASSERT_EQ(RandomJob(seed, Fault::none, false).run(), "") << "STRETTO_TEST_SEED=" << seed;
  }
}

TEST(EventProtocol, RandomJobsWithADeathEndRightOrLostSeeds) {
  for (const std::uint64_t seed : test::seeds(3000)) {
    ASSERT_EQ(RandomJob(seed, Fault::none, true).run(), "") << "STRETTO_TEST_SEED=" << seed;
  }
}

TEST(EventProtocol, TheChecksOfRandomJobsBite) {
  for (const Fault fault : {Fault::drops_a_reply, Fault::echoes_to_triggerer, Fault::repeats_a_trigger}) {
    int caught = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) caught += RandomJob(seed, fault, false).run().empty() ? 0 : 1;
    EXPECT_GT(caught, 10) << "fault " << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace stretto
