#include "stretto/core/event_service.h"

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/core/cause.h"

namespace stretto {

namespace {

struct SubscribeHeader {
  std::uint64_t event;
};

Error never_made(Event event) {
  return Error(ErrorCode::invalid_argument, "event " + std::to_string(event.bits()) +
                                                " was never made, on any node: use what Stretto returned, all 64 bits");
}

Error triggered_already(Event event) {
  return Error(ErrorCode::invalid_state,
               "event " + std::to_string(event.bits()) + " has triggered already: a user event is triggered once");
}

}  // namespace

// A merged event: the counter, and one waiter for each input in the same block.
struct EventService::Merge {
  struct Input : Waiter {
    Input(Fire fire_function, Merge& owner) noexcept : Waiter(fire_function), merge(owner) {}
    Merge& merge;
  };

  Merge(EventService& owner, Event merged, std::uint32_t count) noexcept
      : service(owner), result(merged), inputs(count), missing(count + 1) {}

  static std::size_t bytes(std::size_t count) { return sizeof(Merge) + count * sizeof(Input); }
  Input* input(std::size_t index) noexcept { return reinterpret_cast<Input*>(this + 1) + index; }

  static void fire(Waiter* waiter, const Cause& cause) noexcept {
    Merge& merge = static_cast<Input*>(waiter)->merge;
    if (cause != nullptr) merge.fail(cause);
    merge.done(1);
  }

  // A failed input is told at once: another one may never come. After a shutdown all do.
  void fail(const Cause& cause) noexcept {
    if (poisoned.exchange(true, std::memory_order_acq_rel) || service.is_shut_down()) return;
    service.table_.trigger(result, cause);
  }

  void done(std::uint32_t count) noexcept {
    // With one left nobody else counts any more.
    if (missing.load(std::memory_order_acquire) != count &&
        missing.fetch_sub(count, std::memory_order_acq_rel) != count) {
      return;
    }
    const bool failed = poisoned.load(std::memory_order_acquire);
    const Event event = result;
    EventService& its_service = service;
    arena::release(this, bytes(inputs));
    if (!failed) {
      its_service.complete(event);
    } else if (its_service.is_shut_down()) {
      its_service.complete(event, its_service.shutdown_cause_);
    }
  }

  EventService& service;
  Event result;
  std::uint32_t inputs;
  std::atomic<std::uint32_t> missing;
  std::atomic<bool> poisoned{false};
};

// Triggers one event when another has.
struct EventService::Forward : Waiter {
  Forward(EventService& owner, Event to) noexcept : Waiter(&Forward::fire_target), service(owner), target(to) {}

  static void fire_target(Waiter* waiter, const Cause& cause) noexcept {
    auto* const forward = static_cast<Forward*>(waiter);
    EventService& service = forward->service;
    const Event target = forward->target;
    arena::destroy(forward);
    service.trigger_quietly(target, cause);
  }

  EventService& service;
  Event target;
};

struct EventService::TimeObserver : Waiter {
  TimeObserver(std::function<double()> engine_clock, std::function<void(double, const Cause&)> callback)
      : Waiter(&TimeObserver::note), clock(std::move(engine_clock)), observer(std::move(callback)) {}

  static void note(Waiter* waiter, const Cause& cause) noexcept {
    auto* const self = static_cast<TimeObserver*>(waiter);
    self->observer(self->clock(), cause);
    arena::destroy(self);
  }

  std::function<double()> clock;
  std::function<void(double, const Cause&)> observer;
};

// Tells the protocol, under the baton, that an own event which peers subscribed to has triggered.
struct EventService::Watch : Waiter, fabric::Item {
  Watch(EventService& owner, Event watched) noexcept
      : Waiter(&Watch::triggered), Item(&Watch::tell), service(owner), event(watched) {}

  static void triggered(Waiter* waiter, const Cause& why) noexcept {
    auto* const self = static_cast<Watch*>(waiter);
    self->cause = why;
    self->service.endpoint_.context().post(self);
  }

  static void tell(Item* item) noexcept {
    auto* const self = static_cast<Watch*>(item);
    EventInstructions out;
    self->service.protocol_.on_local_trigger(self->event, self->cause, out);
    self->service.carry_out(out);
    arena::destroy(self);
  }

  EventService& service;
  Event event;
  Cause cause;
};

struct EventService::ObserveItem : fabric::Item {
  ObserveItem(EventService& owner, Event observed, Waiter* waiting) noexcept
      : Item(&ObserveItem::observe), service(owner), event(observed), waiter(waiting) {}

  static void observe(Item* item) noexcept {
    auto* const self = static_cast<ObserveItem*>(item);
    EventInstructions out;
    self->service.protocol_.observe(self->event, self->waiter, out);
    // Registered after the shutdown swept: nothing may wait any more.
    if (self->service.shut_down_.load()) self->service.protocol_.cancel(self->service.shutdown_cause_, out);
    self->service.carry_out(out);
    arena::destroy(self);
  }

  EventService& service;
  Event event;
  Waiter* waiter;
};

struct EventService::TriggerItem : fabric::Item {
  TriggerItem(EventService& owner, Event triggered, Cause why) noexcept
      : Item(&TriggerItem::trigger), service(owner), event(triggered), cause(std::move(why)) {}

  static void trigger(Item* item) noexcept {
    auto* const self = static_cast<TriggerItem*>(item);
    EventInstructions out;
    self->service.protocol_.trigger_remote(self->event, self->cause, out);
    self->service.carry_out(out);
    arena::destroy(self);
  }

  EventService& service;
  Event event;
  Cause cause;
};

EventService::EventService(fabric::Endpoint& endpoint)
    : endpoint_(endpoint), table_(endpoint.self()), protocol_(endpoint.self(), endpoint.size()) {
  endpoint.set_handler(fabric::MessageType::event_subscribe, *this);
  endpoint.set_handler(fabric::MessageType::event_trigger, *this);
}

EventService::~EventService() = default;

void EventService::check(Event event) const {
  if (!event.exists()) return;
  if (event.owner() >= endpoint_.size()) {
    throw Error(ErrorCode::invalid_argument, "event " + std::to_string(event.bits()) + " names node " +
                                                 std::to_string(event.owner()) + " of a job of " +
                                                 std::to_string(endpoint_.size()) + " nodes");
  }
  const bool is_own_barrier = event.is_barrier() && event.owner() == endpoint_.self();
  if (is_own_barrier ? !was_made(event) : event.generation() == 0) throw never_made(event);
}

void EventService::check_user_event(Event event) const {
  if (event.exists() && !event.is_barrier()) {
    check(event);
    return;
  }
  throw Error(ErrorCode::invalid_argument, std::string(event.exists() ? "a phase barrier" : "no event") +
                                               " cannot be triggered; create_user_event makes what can be");
}

EventState EventService::query(Event event, Cause* cause) {
  if (!event.exists()) return EventState::triggered;
  if (is_local(event)) {
    const EventState state = table_.query(event);
    if (state == EventState::poisoned && cause != nullptr) *cause = table_.cause_of(event);
    return state;
  }
  check(event);
  bool over = false;
  Cause why;
  endpoint_.context().enter([&] {
    EventInstructions out;
    protocol_.observe(event, nullptr, out);
    carry_out(out);
    over = protocol_.has_triggered(event, &why);
  });
  if (cause != nullptr) *cause = why;
  if (!over) return EventState::untriggered;
  return why == nullptr ? EventState::triggered : EventState::poisoned;
}

EventState EventService::subscribe(Event event, Waiter* waiter, Cause* cause) {
  if (!event.exists()) return EventState::triggered;
  const bool is_late = is_shut_down();
  if (!is_late && !is_local(event)) return subscribe_elsewhere(event, waiter, cause);
  EventState state = EventState::poisoned;
  if (!is_late || still_ends(event)) state = table_.subscribe(event, waiter);
  if (state == EventState::untriggered) {
    // Registered while the shutdown swept: nothing may wait any more.
    if (shut_down_.load() && !still_ends(event)) table_.trigger(event, shutdown_cause_);
  } else if (is_late) {
    *cause = shutdown_cause_;
    return EventState::poisoned;
  } else if (state == EventState::poisoned) {
    *cause = table_.cause_of(event);
  }
  return state;
}

EventState EventService::subscribe_elsewhere(Event event, Waiter* waiter, Cause* cause) {
  check(event);
  try {
    endpoint_.context().post(arena::make<ObserveItem>(*this, event, waiter));
  } catch (const Error& error) {
    *cause = std::make_shared<const Error>(error);
    return EventState::poisoned;
  }
  return EventState::untriggered;
}

void EventService::trigger(Event event, const Cause& cause) {
  check_user_event(event);
  bool first = true;
  if (is_local(event)) {
    first = table_.trigger(event, cause);
  } else {
    endpoint_.context().enter([&] {
      EventInstructions out;
      first = protocol_.trigger_remote(event, cause, out);
      carry_out(out);
    });
  }
  if (first || shut_down_.load()) return;  // the shutdown may have poisoned it before
  throw triggered_already(event);
}

// As if the shutdown had poisoned it.
void EventService::complete_late(Event event, const Cause& cause) noexcept {
  if (cause != nullptr || !table_.trigger_unawaited(event)) table_.trigger(event, shutdown_cause_);
}

// Whether somebody may wait for it though all is over.
bool EventService::still_ends(Event event) const noexcept {
  return is_local(event) && table_.ends(event) == Ends::by_itself;
}

void EventService::trigger_quietly(Event event, const Cause& cause) noexcept {
  if (is_local(event)) {
    complete(event, cause);
  } else {
    endpoint_.context().post(arena::make<TriggerItem>(*this, event, cause));
  }
}

void EventService::trigger_after(Event event, Event precondition) {
  check_user_event(event);
  check(precondition);
  if (!precondition.exists()) {
    trigger(event, nullptr);
    return;
  }
  auto owned = arena::make_owned<Forward>(*this, event);
  if (is_local(event) && !table_.set_ends_by_itself(event) && !is_shut_down()) throw triggered_already(event);
  Forward* const forward = owned.release();
  Cause cause;
  if (subscribe(precondition, forward, &cause) == EventState::untriggered) return;
  arena::destroy(forward);
  trigger(event, cause);
}

Event EventService::merge(std::span<const Event> events) {
  // Most merges are of events of which few are still to come.
  std::uint32_t waiting = 0;
  Event only;
  for (const Event event : events) {
    check(event);
    const EventState state = is_local(event) || !event.exists() ? query(event) : EventState::untriggered;
    if (state == EventState::triggered) continue;
    if (state == EventState::poisoned) {
      if (!is_shut_down()) return event;
      if (waiting == 0) only = event;  // who waits for another one is told as well, when that is over
      continue;
    }
    ++waiting;
    only = event;
  }
  if (waiting <= 1) return only;

  const std::size_t bytes = Merge::bytes(waiting);
  if (bytes > arena::max_block_bytes) {
    // Too many for one block: a tree of merges.
    const std::size_t half = events.size() / 2;
    const Event halves[2] = {merge(events.first(half)), merge(events.subspan(half))};
    return merge(halves);
  }
  void* const block = arena::allocate(bytes);
  Event result;
  try {
    result = table_.create(Ends::by_itself);
  } catch (...) {
    arena::release(block, bytes);
    throw;
  }
  Merge& merged = *::new (block) Merge(*this, result, waiting);
  std::uint32_t used = 0;
  std::uint32_t over = 1;  // the count that keeps the record alive while it is being built
  for (const Event event : events) {
    if (!event.exists()) continue;
    if (used == waiting) break;
    auto* const input = ::new (merged.input(used)) Merge::Input(&Merge::fire, merged);
    Cause cause;
    switch (subscribe(event, input, &cause)) {
      case EventState::untriggered: ++used; break;
      case EventState::triggered: break;
      case EventState::poisoned: merged.fail(cause); break;
    }
  }
  over += waiting - used;
  merged.done(over);
  return result;
}

void EventService::observe_time(Event event, std::function<double()> clock,
                                std::function<void(double, const Cause&)> observer) {
  check(event);
  auto* const waiter = arena::make<TimeObserver>(std::move(clock), std::move(observer));
  Cause cause;
  if (subscribe(event, waiter, &cause) != EventState::untriggered) waiter->fire(waiter, cause);
}

void EventService::on_message(const fabric::Message& message) {
  EventInstructions out;
  if (message.type == fabric::MessageType::event_subscribe) {
    const Event event = Event::from_bits(fabric::read_header<SubscribeHeader>(message).event);
    if (event.owner() != endpoint_.self()) {
      throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " subscribes to event " +
                                            std::to_string(event.bits()) + ", which is another node's");
    }
    if (!was_made(event)) {
      disown(message.from, event);
      return;
    }
    const EventState state = event.is_barrier() ? EventState::untriggered : table_.query(event);
    protocol_.on_subscribe(message.from, event, state != EventState::untriggered,
                           state == EventState::poisoned ? table_.cause_of(event) : nullptr, out);
  } else {
    const auto header = fabric::read_header<TriggerHeader>(message);
    const Event event = Event::from_bits(header.event);
    const bool ours = event.owner() == endpoint_.self();
    if (ours ? !may_be_triggered(event) : event.owner() != message.from) {
      throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " triggers event " +
                                            std::to_string(event.bits()) + ", which is not its to trigger");
    }
    protocol_.on_trigger(message.from, event, header.subscribed != 0, cause_from(header, message.payload), out);
  }
  carry_out(out);
}

// Whether peers may trigger that event of this node: not what is over when something here is, as a task that still uses
// what is its caller's. What has triggered already does not change.
bool EventService::may_be_triggered(Event event) const noexcept {
  if (event.is_barrier() || !table_.was_created(event)) return false;
  return table_.ends(event) == Ends::when_told || table_.query(event) != EventState::untriggered;
}

void EventService::carry_out(EventInstructions& instructions) {
  for (EventInstruction& instruction : instructions) {
    switch (instruction.kind) {
      case EventInstruction::Kind::send_subscribe:
        endpoint_.send(instruction.node, fabric::MessageType::event_subscribe,
                       bytes_of(SubscribeHeader{instruction.event.bits()}), {});
        break;
      case EventInstruction::Kind::send_trigger:
        endpoint_.send(instruction.node, fabric::MessageType::event_trigger,
                       bytes_of(trigger_header(instruction.event, instruction.cause, instruction.subscribed)),
                       text_of(instruction.cause));
        break;
      case EventInstruction::Kind::watch: watch(instruction.event); break;
      case EventInstruction::Kind::trigger: table_.trigger(instruction.event, instruction.cause); break;
      case EventInstruction::Kind::fire: fire_all(instruction.waiters, instruction.cause); break;
    }
  }
}

void EventService::watch(Event event) {
  auto* const watch = arena::make<Watch>(*this, event);
  const EventState state = table_.subscribe(event, watch);
  if (state == EventState::untriggered) return;
  watch->cause = state == EventState::poisoned ? table_.cause_of(event) : nullptr;
  Watch::tell(watch);
}

// Whoever asked may have been given a wrong name: nothing that its connection is to be closed for.
void EventService::disown(NodeId peer, Event event) {
  const Cause cause = std::make_shared<const Error>(never_made(event));
  endpoint_.send(peer, fabric::MessageType::event_trigger, bytes_of(trigger_header(event, cause)), text_of(cause));
}

std::uint32_t EventService::take_barrier_slot() {
  const std::uint32_t slot = next_barrier_slot_.fetch_add(1);
  if (slot < Event::slots) return slot;
  throw Error(ErrorCode::out_of_resources, "no room for another phase barrier: 2^23 were created at this node");
}

void EventService::complete_barrier(Event event, const Cause& cause) {
  EventInstructions out;
  protocol_.complete_barrier(event, cause, out);
  carry_out(out);
}

void EventService::on_peer_lost(NodeId peer, const Cause& cause) {
  EventInstructions out;
  protocol_.on_peer_lost(peer, cause, out);
  carry_out(out);
}

void EventService::shut_down(const Cause& cause) {
  {
    const std::lock_guard lock(shut_down_mutex_);
    if (!shut_down_.load()) {
      shutdown_cause_ = cause;
      shut_down_.store(true);
    }
  }
  table_.poison_awaited(cause);
  endpoint_.context().enter([&] {
    EventInstructions out;
    protocol_.cancel(cause, out);
    carry_out(out);
  });
}

}  // namespace stretto
