#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "stretto/core/event.h"
#include "stretto/core/waiter.h"

namespace stretto {

/// What the protocol wants done; the node carries it out in order.
struct EventInstruction {
  enum class Kind : std::uint8_t {
    send_subscribe,  ///< tell `node` that this node wants to hear of `event`
    send_trigger,    ///< tell `node` that `event` has triggered, with `cause` if it was poisoned
    watch,           ///< own event: call `on_local_trigger` when it has triggered
    trigger,         ///< own event: trigger it here
    fire,            ///< fire `waiters` (a list linked by next, newest first) with `cause`
  };
  Kind kind;
  NodeId node = 0;
  Event event;
  Cause cause;
  Waiter* waiters = nullptr;
  bool subscribed = false;  ///< send_trigger to an owner: this node has asked for the event as well
};

using EventInstructions = std::vector<EventInstruction>;

/// Events among nodes: the owner/subscriber protocol of the Realm paper (sections 5.1 and 5.2), and phase barriers,
/// whose generations are events that can be waited for before they begin.
///
/// A plain state machine of one node: calls in, instructions out, no I/O. Used under the node's baton only.
/// At most 2N - 2 messages for an event that N nodes watch: one subscription a node, one trigger a node, none back to
/// whoever triggered, in whatever order they arrive.
class EventProtocol {
 public:
  EventProtocol(NodeId self, std::uint32_t nodes) : self_(self), lost_(nodes) {}

  /// This node wants `waiter` (may be null: just to know) fired when an event that it does not own, or a barrier's
  /// generation, has triggered. May fire it at once.
  void observe(Event event, Waiter* waiter, EventInstructions& out);

  /// What this node knows of such an event; `cause` is set if it is poisoned.
  bool has_triggered(Event event, Cause* cause) const;

  /// The program triggers another node's event here. False when this node knows that it has triggered already; that a
  /// lost owner's event was poisoned here does not count.
  bool trigger_remote(Event event, const Cause& cause, EventInstructions& out);

  /// A peer wants to hear of this node's event. `triggered` says whether it is over already (barriers: ignored).
  void on_subscribe(NodeId from, Event event, bool triggered, const Cause& cause, EventInstructions& out);

  /// A peer says that `event` has triggered: ours (it was triggered there; `subscribed`: after the peer had asked for
  /// it), or one that we subscribed to.
  void on_trigger(NodeId from, Event event, bool subscribed, const Cause& cause, EventInstructions& out);

  /// An own event that the protocol watches has triggered.
  void on_local_trigger(Event event, const Cause& cause, EventInstructions& out);

  /// This node's barrier has finished (or lost) a generation.
  void complete_barrier(Event event, const Cause& cause, EventInstructions& out);

  /// A node died: its events that are not known to have triggered are poisoned; it hears of nothing any more.
  void on_peer_lost(NodeId node, const Cause& cause, EventInstructions& out);

  /// Poisons everything that is waited for. For shutdown.
  void cancel(const Cause& cause, EventInstructions& out);

 private:
  // Another node's slot, or a barrier's.
  struct Observed {
    std::uint32_t triggered = 0;  // generations up to this one are over
    std::uint32_t poisoned = 0;   // the generation that `cause` poisoned, the slot's last; 0 for none
    Cause cause;
    std::set<std::uint32_t> subscribed;        // later generations that the owner was asked for
    std::map<std::uint32_t, Waiter*> waiters;  // by generation, newest first
  };

  static std::uint64_t slot_key(Event event) { return event.bits() >> 24U; }
  static bool is_over(const Observed& seen, Event event) { return event.generation() <= seen.triggered; }
  Cause cause_in(const Observed& seen, Event event) const {
    return event.generation() == seen.poisoned || (seen.poisoned != 0 && event.generation() > seen.poisoned)
               ? seen.cause
               : nullptr;
  }
  void advance(Observed& seen, Event event, const Cause& cause, EventInstructions& out);
  static void fire_through(Observed& seen, Event event, std::uint32_t generation, const Cause& cause,
                           EventInstructions& out);

  NodeId self_;
  std::vector<Cause> lost_;                                // by node: why it is lost
  std::map<std::uint64_t, Observed> observed_;             // by node and slot
  std::map<std::uint64_t, std::set<NodeId>> subscribers_;  // of own events, by event
  // Subscriptions to own events still to come, from nodes that have triggered them: they need no answer.
  std::set<std::pair<std::uint64_t, NodeId>> overtaken_;
};

}  // namespace stretto
