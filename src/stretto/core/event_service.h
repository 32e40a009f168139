#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "stretto/core/event.h"
#include "stretto/core/event_protocol.h"
#include "stretto/core/event_table.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

/// All that a node does with events: its own (EventTable), others' (EventProtocol over the fabric), merges.
///
/// Owned by the node. Any thread may call everything that does not say otherwise.
class EventService final : private fabric::MessageHandler {
 public:
  explicit EventService(fabric::Endpoint& endpoint);
  ~EventService() override;

  Event create(Ends ends = Ends::when_told) { return table_.create(ends); }

  /// Throws Error(invalid_argument) for an event of a node that does not exist, for one without a generation, and for a
  /// phase of a barrier that this node never made. Its other events that are still to be made count as triggered: to
  /// tell them apart would cost every use.
  void check(Event event) const;
  /// Whether an event of this node was ever made; peers and programs may name any.
  bool was_made(Event event) const noexcept {
    return event.is_barrier() ? event.generation() != 0 && event.slot() < next_barrier_slot_.load()
                              : table_.was_created(event);
  }

  /// Whether `event` has triggered as far as this node can know; if poisoned, `cause` (may be null) is set. Asking
  /// about another node's event subscribes to it. Throws as `check` only.
  EventState query(Event event, Cause* cause = nullptr);

  /// Fires `waiter` when the event has triggered. Returns another state than `untriggered`, and leaves the waiter
  /// alone, when it has already, as far as that can be seen at once; `cause` is then set if it was poisoned. After a
  /// shutdown all counts as poisoned but what is still to end by itself; so it does where there is no memory to ask
  /// another node for its event. Throws as `check` only.
  EventState subscribe(Event event, Waiter* waiter, Cause* cause);

  /// Triggers an operation's completion, an event of this node; nothing happens if it was cancelled before. After a
  /// shutdown who waits for it hears of that instead.
  void complete(Event event, const Cause& cause = nullptr) noexcept {
    if (is_shut_down()) {
      complete_late(event, cause);
    } else {
      table_.trigger(event, cause);
    }
  }

  /// The same, clean, for who will have another operation, and takes its completion now. no_event: it has to create
  /// one.
  Event complete_and_renew(Event event) noexcept { return table_.trigger_and_renew(event); }
  /// Takes back what was created, and nobody has heard of.
  void discard(Event event) noexcept { table_.discard(event); }

  /// Triggers a user event of any node now. Throws Error(invalid_state) when it is known to have triggered, and
  /// Error(invalid_argument) for what is no user event.
  void trigger(Event event, const Cause& cause);
  /// Triggers it after `precondition`. While that is pending, what has triggered already is known only of own events.
  void trigger_after(Event event, Event precondition);

  /// An event that triggers when all of `events` have, and is poisoned as soon as one of them is; after a shutdown when
  /// all are over.
  Event merge(std::span<const Event> events);

  /// Calls `observer(seconds, cause)` when the event triggers, with the time that `clock` shows then.
  void observe_time(Event event, std::function<double()> clock, std::function<void(double, const Cause&)> observer);

  /// From now on nothing waits any more: everything waited for is poisoned with `cause`, and so is what is waited
  /// for later. What ends by itself is when it does: who waits for a task does not go on before that has let go of what
  /// it uses. Any thread that serves no context; the first cause stays.
  void shut_down(const Cause& cause);
  /// Poisons what somebody waits for though it was to end by itself: where tasks wait for each other, none does.
  /// Returns whether there was any. REQUIRES: shut_down was called; any thread.
  bool poison_rest() noexcept { return table_.poison_awaited(shutdown_cause_, Ends::by_itself); }

  bool is_shut_down() const noexcept { return shut_down_.load(std::memory_order_acquire); }

  EventTable& table() noexcept { return table_; }
  /// Whether the event is one of the table's, in which nothing has generation 0.
  bool is_local(Event event) const noexcept {
    return event.owner() == endpoint_.self() && !event.is_barrier() && event.generation() != 0;
  }

  /// A slot for another phase barrier. Throws Error(out_of_resources) when all are taken.
  std::uint32_t take_barrier_slot();

  // Under the baton.

  /// For phase barriers.
  void complete_barrier(Event event, const Cause& cause);
  /// Tells a peer that nobody made `event`, one of this node: there it is poisoned, and so is what follows in its slot.
  void disown(NodeId peer, Event event);
  void on_peer_lost(NodeId peer, const Cause& cause);

 private:
  struct Merge;
  struct Forward;
  struct TimeObserver;
  struct Watch;
  struct ObserveItem;
  struct TriggerItem;

  void on_message(const fabric::Message& message) override;
  void check_user_event(Event event) const;
  bool may_be_triggered(Event event) const noexcept;
  void carry_out(EventInstructions& instructions);
  EventState subscribe_elsewhere(Event event, Waiter* waiter, Cause* cause);
  void complete_late(Event event, const Cause& cause) noexcept;
  void trigger_quietly(Event event, const Cause& cause) noexcept;
  bool still_ends(Event event) const noexcept;
  void watch(Event event);

  fabric::Endpoint& endpoint_;
  EventTable table_;
  EventProtocol protocol_;  // under the baton
  std::atomic<std::uint32_t> next_barrier_slot_{Event::first_barrier_slot};
  std::mutex shut_down_mutex_;
  std::atomic<bool> shut_down_{false};
  Cause shutdown_cause_;  // written once, before shut_down_
};

}  // namespace stretto
