#include "stretto/core/event_protocol.h"

#include <utility>

namespace stretto {

namespace {

Event with_generation(Event event, std::uint32_t generation) { return {event.owner(), event.slot(), generation}; }

}  // namespace

void EventProtocol::fire_through(Observed& seen, Event event, std::uint32_t generation, const Cause& cause,
                                 EventInstructions& out) {
  while (!seen.waiters.empty() && seen.waiters.begin()->first <= generation) {
    const auto first = seen.waiters.begin();
    out.push_back({EventInstruction::Kind::fire, 0, with_generation(event, first->first), cause, first->second});
    seen.waiters.erase(first);
  }
}

// `event` is known to be over. A poisoned generation is its slot's last, so everything before it was clean.
void EventProtocol::advance(Observed& seen, Event event, const Cause& cause, EventInstructions& out) {
  if (is_over(seen, event)) return;
  const std::uint32_t generation = event.generation();
  fire_through(seen, event, cause == nullptr ? generation : generation - 1, nullptr, out);
  seen.triggered = generation;
  seen.subscribed.erase(seen.subscribed.begin(), seen.subscribed.upper_bound(generation));
  if (cause == nullptr) return;
  seen.poisoned = generation;
  seen.cause = cause;
  seen.triggered = Event::max_generation;  // none follows: later generations of a barrier are lost as well
  fire_through(seen, event, Event::max_generation, cause, out);
}

void EventProtocol::observe(Event event, Waiter* waiter, EventInstructions& out) {
  Observed& seen = observed_[slot_key(event)];
  const NodeId owner = event.owner();
  // An event exists only after its predecessors triggered; a barrier's generations may be named in advance.
  if (!event.is_barrier() && event.generation() > 1) {
    advance(seen, with_generation(event, event.generation() - 1), nullptr, out);
  }
  if (!is_over(seen, event) && lost_[owner] != nullptr) {
    advance(seen, with_generation(event, seen.triggered + 1), lost_[owner], out);
  }
  if (is_over(seen, event)) {
    if (waiter == nullptr) return;
    waiter->next = nullptr;
    out.push_back({EventInstruction::Kind::fire, 0, event, cause_in(seen, event), waiter});
    return;
  }
  if (waiter != nullptr) {
    Waiter*& newest = seen.waiters[event.generation()];
    waiter->next = newest;
    newest = waiter;
  }
  if (owner != self_ && seen.subscribed.insert(event.generation()).second) {
    out.push_back({EventInstruction::Kind::send_subscribe, owner, event, nullptr, nullptr});
  }
}

bool EventProtocol::has_triggered(Event event, Cause* cause) const {
  const auto found = observed_.find(slot_key(event));
  if (found == observed_.end() || !is_over(found->second, event)) return false;
  if (cause != nullptr) *cause = cause_in(found->second, event);
  return true;
}

bool EventProtocol::trigger_remote(Event event, const Cause& cause, EventInstructions& out) {
  Observed& seen = observed_[slot_key(event)];
  const NodeId owner = event.owner();
  if (is_over(seen, event)) return lost_[owner] != nullptr;
  if (lost_[owner] == nullptr) {
    const bool subscribed = seen.subscribed.contains(event.generation());
    out.push_back({EventInstruction::Kind::send_trigger, owner, event, cause, nullptr, subscribed});
  }
  advance(seen, event, cause, out);
  return true;
}

void EventProtocol::on_subscribe(NodeId from, Event event, bool triggered, const Cause& cause, EventInstructions& out) {
  if (overtaken_.erase({event.bits(), from}) != 0) return;
  if (event.is_barrier()) {
    const Observed& seen = observed_[slot_key(event)];
    if (is_over(seen, event)) {
      // Of a poisoned barrier the first generation that failed: what came before it was clean.
      const Cause why = cause_in(seen, event);
      const Event over = why == nullptr ? event : with_generation(event, seen.poisoned);
      out.push_back({EventInstruction::Kind::send_trigger, from, over, why, nullptr});
      return;
    }
  } else if (triggered) {
    out.push_back({EventInstruction::Kind::send_trigger, from, event, cause, nullptr});
    return;
  }
  const auto [subscribers, added] = subscribers_.try_emplace(event.bits());
  subscribers->second.insert(from);
  if (added && !event.is_barrier()) out.push_back({EventInstruction::Kind::watch, 0, event, nullptr, nullptr});
}

void EventProtocol::on_trigger(NodeId from, Event event, bool subscribed, const Cause& cause, EventInstructions& out) {
  if (event.owner() != self_) {
    advance(observed_[slot_key(event)], event, cause, out);
    return;
  }
  // Whoever triggered it knows already. An emptied set stays: the event is being watched.
  const auto found = subscribers_.find(event.bits());
  const bool known = found != subscribers_.end() && found->second.erase(from) != 0;
  if (subscribed && !known) overtaken_.emplace(event.bits(), from);
  out.push_back({EventInstruction::Kind::trigger, 0, event, cause, nullptr});
}

void EventProtocol::on_local_trigger(Event event, const Cause& cause, EventInstructions& out) {
  const auto found = subscribers_.find(event.bits());
  if (found == subscribers_.end()) return;
  for (const NodeId node : found->second) {
    out.push_back({EventInstruction::Kind::send_trigger, node, event, cause, nullptr});
  }
  subscribers_.erase(found);
}

void EventProtocol::complete_barrier(Event event, const Cause& cause, EventInstructions& out) {
  advance(observed_[slot_key(event)], event, cause, out);
  if (cause == nullptr) {
    on_local_trigger(event, nullptr, out);
    return;
  }
  // Whoever waits for this or a later generation will not see it.
  std::set<NodeId> told;
  const std::uint64_t first = event.bits();
  const std::uint64_t last = with_generation(event, Event::max_generation).bits();
  for (auto it = subscribers_.lower_bound(first); it != subscribers_.end() && it->first <= last;) {
    told.merge(it->second);
    it = subscribers_.erase(it);
  }
  for (const NodeId node : told) out.push_back({EventInstruction::Kind::send_trigger, node, event, cause, nullptr});
}

void EventProtocol::on_peer_lost(NodeId node, const Cause& cause, EventInstructions& out) {
  lost_[node] = cause;
  for (auto& [event, subscribers] : subscribers_) subscribers.erase(node);
  std::erase_if(overtaken_, [node](const auto& expected) { return expected.second == node; });
  const std::uint64_t first = Event(node, 0, 0).bits() >> 24U;
  const std::uint64_t last = Event(node, Event::slots - 1, 0).bits() >> 24U;
  for (auto it = observed_.lower_bound(first); it != observed_.end() && it->first <= last; ++it) {
    Observed& seen = it->second;
    if (seen.waiters.empty()) continue;
    const Event next = with_generation(Event::from_bits(it->first << 24U), seen.triggered + 1);
    advance(seen, next, cause, out);
  }
}

void EventProtocol::cancel(const Cause& cause, EventInstructions& out) {
  for (auto& [key, seen] : observed_) {
    fire_through(seen, Event::from_bits(key << 24U), Event::max_generation, cause, out);
  }
}

}  // namespace stretto
