#include "stretto/core/barrier_service.h"

#include <memory>
#include <string>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/core/cause.h"
#include "stretto/core/node.h"

namespace stretto {

namespace {

struct ArriveHeader {
  TriggerHeader outcome;
  std::uint32_t count;
  std::uint32_t unused;
};

}  // namespace

PhaseBarrier PhaseBarrier::next() const {
  if (!event_.is_barrier()) {
    throw Error(ErrorCode::invalid_state, "next: this is no phase of a barrier; use what create returned");
  }
  if (event_.generation() == Event::max_generation) {
    throw Error(ErrorCode::out_of_resources, "a phase barrier has no phase after number " +
                                                 std::to_string(Event::max_generation) + "; create a new one");
  }
  return PhaseBarrier({event_.owner(), event_.slot(), event_.generation() + 1});
}

// An arrival that waits for its precondition, then for the baton.
struct BarrierService::Arrival : Waiter, fabric::Item {
  Arrival(BarrierService& owner, Event phase, std::uint32_t arrivals) noexcept
      : Waiter(&Arrival::ready), Item(&Arrival::send), service(owner), event(phase), count(arrivals) {}

  static void ready(Waiter* waiter, const Cause& why) noexcept {
    auto* const arrival = static_cast<Arrival*>(waiter);
    arrival->cause = why;
    arrival->service.node_.endpoint().context().post(arrival);
  }

  static void send(Item* item) noexcept {
    const arena::Owned<Arrival> arrival(static_cast<Arrival*>(item));
    arrival->service.deliver(*arrival);
  }

  BarrierService& service;
  Event event;
  std::uint32_t count;
  Cause cause;
};

BarrierService::BarrierService(Node& node) : node_(node) {
  node.endpoint().set_handler(fabric::MessageType::barrier_arrive, *this);
}

BarrierService::~BarrierService() = default;

PhaseBarrier BarrierService::create(std::uint32_t arrivals, std::span<const NodeId> participants) {
  if (arrivals == 0) {
    throw Error(ErrorCode::invalid_argument, "a phase barrier needs at least 1 arrival a phase, not 0");
  }
  for (const NodeId participant : participants) {
    if (participant >= node_.size()) {
      throw Error(ErrorCode::invalid_argument, "participant " + std::to_string(participant) +
                                                   " of a phase barrier does not exist; the job has " +
                                                   std::to_string(node_.size()) + " nodes");
    }
  }
  const std::uint32_t slot = node_.events().take_barrier_slot();
  node_.endpoint().context().enter([&] {
    State state{arrivals, {participants.begin(), participants.end()}, first_phase_, {}, false};
    State& created = states_.emplace(slot, std::move(state)).first->second;
    for (const NodeId participant : created.participants) {
      if (!node_.endpoint().lost(participant)) continue;
      fail(slot, created,
           std::make_shared<const Error>(ErrorCode::peer_lost,
                                         "node " + std::to_string(participant) + " is lost and cannot arrive"));
      break;
    }
  });
  return PhaseBarrier({node_.id(), slot, first_phase_});
}

void BarrierService::arrive(PhaseBarrier barrier, std::uint32_t count, Event precondition) {
  const Event event = barrier.event();
  if (!event.is_barrier()) {
    throw Error(ErrorCode::invalid_argument, "arrive: this is no phase of a barrier; use what create returned");
  }
  node_.events().check(event);
  node_.events().check(precondition);
  auto* const arrival = arena::make<Arrival>(*this, event, count);
  Cause cause;
  if (node_.events().subscribe(precondition, arrival, &cause) != EventState::untriggered) {
    Arrival::ready(arrival, cause);
  }
}

void BarrierService::deliver(const Arrival& arrival) {
  const NodeId owner = arrival.event.owner();
  if (owner == node_.id()) {
    count(arrival.event, arrival.count, arrival.cause);
    return;
  }
  const ArriveHeader header{trigger_header(arrival.event, arrival.cause), arrival.count, 0};
  node_.endpoint().send(owner, fabric::MessageType::barrier_arrive, bytes_of(header), text_of(arrival.cause));
}

void BarrierService::on_message(const fabric::Message& message) {
  const auto header = fabric::read_header<ArriveHeader>(message);
  const Event event = Event::from_bits(header.outcome.event);
  if (event.owner() != node_.id() || !event.is_barrier()) {
    throw Error(ErrorCode::bad_input,
                "node " + std::to_string(message.from) + " arrives at a barrier that is not here");
  }
  if (!node_.events().was_made(event)) {
    node_.events().disown(message.from, event);
    return;
  }
  count(event, header.count, cause_from(header.outcome, message.payload));
}

// Nothing happens where another thread is just creating the barrier, which nobody can know yet.
void BarrierService::count(Event event, std::uint32_t arrivals, const Cause& cause) {
  const auto found = states_.find(event.slot());
  if (found == states_.end() || found->second.over) return;
  State& state = found->second;
  if (cause != nullptr) {
    fail(event.slot(), state, cause);
    return;
  }
  if (arrivals == 0) return;
  if (event.generation() < state.phase || arrivals > state.arrivals - state.arrived[event.generation()]) {
    fail(event.slot(), state,
         std::make_shared<const Error>(ErrorCode::invalid_state, "phase " + std::to_string(event.generation()) +
                                                                     " of a barrier got more than its " +
                                                                     std::to_string(state.arrivals) + " arrivals"));
    return;
  }
  state.arrived[event.generation()] += arrivals;
  // In order: a later phase may be complete before an earlier one is.
  for (auto it = state.arrived.find(state.phase); it != state.arrived.end() && it->second == state.arrivals;
       it = state.arrived.find(state.phase)) {
    state.arrived.erase(it);
    const Event done(node_.id(), event.slot(), state.phase);
    if (state.phase++ == Event::max_generation) state.end();
    node_.events().complete_barrier(done, nullptr);
  }
}

void BarrierService::State::end() {
  over = true;
  participants.clear();
  arrived.clear();
}

void BarrierService::fail(std::uint32_t slot, State& state, const Cause& cause) {
  if (state.over) return;
  state.end();
  node_.events().complete_barrier({node_.id(), slot, state.phase}, cause);
}

void BarrierService::on_peer_lost(NodeId peer, const Cause& cause) {
  for (auto& [slot, state] : states_) {
    if (state.participants.contains(peer)) fail(slot, state, cause);
  }
}

}  // namespace stretto
