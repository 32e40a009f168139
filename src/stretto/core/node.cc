#include "stretto/core/node.h"

#include <algorithm>
#include <semaphore>
#include <string>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/cause.h"
#include "stretto/core/engine.h"
#include "stretto/core/operations.h"
#include "stretto/core/worker.h"

namespace stretto {

namespace {

// A plain task that waits: its stack, and how it gets back to its processor.
struct StackWait : Runnable, Waiter {
  StackWait(Processor& its_processor, Worker& worker, int priority_of_task) noexcept
      : Runnable(&StackWait::go_on, priority_of_task), Waiter(&StackWait::fired) {
    pinned = &worker;
    place.processor = &its_processor;
  }

  static void fired(Waiter* waiter, const Cause& why) noexcept {
    auto* const wait = static_cast<StackWait*>(waiter);
    wait->cause = why;
    wait->place.processor->post(wait);
  }

  static void go_on(Runnable* runnable, Worker& worker) noexcept {
    worker.resume(static_cast<StackWait*>(runnable)->place);
  }

  Worker::Suspended place;
  Cause cause;
};

struct ThreadWait : Waiter {
  ThreadWait() noexcept : Waiter(&ThreadWait::fired) {}

  static void fired(Waiter* waiter, const Cause& why) noexcept {
    auto* const wait = static_cast<ThreadWait*>(waiter);
    wait->cause = why;
    wait->done.release();
  }

  std::binary_semaphore done{0};
  Cause cause;
};

constexpr double most_charged_seconds = 1e6;

Node& node_of_running_task(const char* call) {
  const Worker* const worker = Worker::current();
  if (worker != nullptr && worker->task() != nullptr) return worker->task()->node;
  throw Error(ErrorCode::invalid_state,
              std::string(call) + " outside of a task does not know its node; call it on the Node");
}

}  // namespace

bool Event::has_triggered() const { return node_of_running_task("Event::has_triggered").has_triggered(*this); }
void Event::wait() const { node_of_running_task("Event::wait").wait(*this); }
void UserEvent::trigger(Event precondition) const {
  node_of_running_task("UserEvent::trigger").trigger(*this, precondition);
}
void UserEvent::poison(const Error& error) const { node_of_running_task("UserEvent::poison").poison(*this, error); }

Node::Node(fabric::Endpoint& endpoint, Engine& engine, unsigned processors, const Surroundings& surroundings)
    : endpoint_(endpoint),
      engine_(engine),
      surroundings_(surroundings),
      events_(endpoint),
      bulk_(endpoint),
      barriers_(std::make_unique<BarrierService>(*this)),
      remote_tasks_(std::make_unique<RemoteTasks>(*this)) {
  for (unsigned i = 0; i < processors; ++i) {
    processors_.push_back(std::make_unique<Processor>(*this, engine, i, Processor::Kind::ordinary));
  }
  service_ = std::make_unique<Processor>(*this, engine, processors, Processor::Kind::service);
  endpoint.add_observer(*this);
}

Node::~Node() {
  while (!parts_.empty()) parts_.pop_back();
}

Processor& Node::processor(int index) {
  if (index >= static_cast<int>(processors_.size())) {
    throw Error(ErrorCode::invalid_argument, "processor " + std::to_string(index) + " does not exist; node " +
                                                 std::to_string(id()) + " has " + std::to_string(processors_.size()));
  }
  if (index >= 0) return *processors_[static_cast<std::size_t>(index)];
  if (processors_.size() == 1) return *processors_.front();
  return *processors_[next_processor_.fetch_add(1, std::memory_order_relaxed) % processors_.size()];
}

Event Node::submit(TaskRecord& record, Event precondition) {
  const Event completion = record.completion = events_.create(Ends::by_itself);
  task_started();
  if (precondition.exists()) {
    Cause cause;
    if (events_.subscribe(precondition, &record.waiter, &cause) == EventState::untriggered) return completion;
    record.cause = cause;
  }
  record.processor.post(&record);
  return completion;
}

std::optional<std::uint64_t> Node::changes_at_rest() const noexcept {
  if (endpoint_.context().busy()) return std::nullopt;
  std::uint64_t sum = 0;
  const auto rests = [&sum](const auto& processor) {
    const std::uint32_t changes = processor->changes();
    sum += changes;
    return changes % 2 == 0;
  };
  if (!rests(service_) || !std::all_of(processors_.begin(), processors_.end(), rests)) return std::nullopt;
  return sum;
}

void Node::task_finished(Event completion, const Cause& failure) noexcept {
  events_.complete(completion, failure);
  live_tasks_.fetch_sub(1, std::memory_order_acq_rel);
}

Cause Node::cause_of(Event event) {
  Cause cause;
  events_.query(event, &cause);
  return cause;
}

void Node::wait(Event event) {
  if (!event.exists()) return;
  if (fabric::Context::serving()) {
    throw Error(ErrorCode::invalid_state,
                "wait() under a node's baton would never return; use the event as a precondition");
  }
  Cause cause;
  const Worker* const worker = Worker::current();
  if (worker != nullptr && worker->task() != nullptr) {
    wait_in_task(event, cause);
  } else {
    wait_in_thread(event, cause);
  }
  if (cause != nullptr) throw Error(*cause);
}

[[gnu::hot]] bool Node::linger(const Processor& held, Event event) noexcept {
  return events_.is_local(event) && engine_.linger(held, events_.table(), event) && !events_.is_shut_down();
}

void Node::attend(Event event, double patience) noexcept {
  engine_.attend(endpoint_.context(), events_.table(), event, Engine::Until::triggered, patience);
}

void Node::attend_until_asked(Event event, double patience) noexcept {
  engine_.attend(endpoint_.context(), events_.table(), event, Engine::Until::asked, patience);
}

void Node::wait_in_task(Event event, Cause& cause) {
  const BetweenSlices pause(engine_);
  Worker& worker = *Worker::current();
  if (linger(*worker.held(), event)) return;
  worker.reserve_stack();
  const auto wait = arena::make_owned<StackWait>(*worker.held(), worker, worker.task()->priority);
  if (events_.subscribe(event, wait.get(), &cause) != EventState::untriggered) return;
  worker.held()->hand_on();
  worker.suspend(wait->place);
  cause = wait->cause;
}

void Node::wait_in_thread(Event event, Cause& cause) {
  if (engine_.simulated()) {
    throw Error(ErrorCode::invalid_state,
                "wait() in a thread of its own is not possible on sim, where exactly one thread runs");
  }
  const auto wait = arena::make_owned<ThreadWait>();
  if (events_.subscribe(event, wait.get(), &cause) != EventState::untriggered) return;
  endpoint_.context().run_put_off();  // all others may be at rest already
  wait->done.acquire();
  cause = wait->cause;
}

Future<double> Node::time_of(Event event) {
  events_.check(event);
  const Event known = events_.create(Ends::by_itself);
  auto state = std::make_shared<Future<double>::State>();
  events_.observe_time(
      event, [this] { return now(); },
      [this, known, state](double seconds, const Cause&) {
        state->value = seconds;
        events_.complete(known);
      });
  return {known, state};
}

void Node::cancel_operations(const Cause& cause) {
  endpoint_.context().enter([&] {
    for (Operations* const part : operations_) part->cancel(cause);
  });
}

bool Node::operations_are_over() {
  bool over = true;
  endpoint_.context().enter([&] {
    for (Operations* const part : operations_) over = over && part->over();
  });
  return over;
}

void Node::cancel_remote_tasks(const Cause& cause) {
  endpoint_.context().enter([&] { remote_tasks_->cancel(cause); });
}

double Node::now() const noexcept { return engine_.now(); }

void Node::charge(double seconds) {
  if (!(seconds >= 0 && seconds <= most_charged_seconds)) {
    throw Error(ErrorCode::invalid_argument, "charge: " + std::to_string(seconds) +
                                                 " seconds; it must be between 0 and " +
                                                 std::to_string(most_charged_seconds));
  }
  Worker* const worker = Worker::current();
  if (worker == nullptr || worker->task() == nullptr) {
    throw Error(ErrorCode::invalid_state, "charge() outside of a task: only tasks take time");
  }
  engine_.charge(*worker, seconds);
}

void Node::on_peer_lost(NodeId peer, const Error& error) {
  const Cause cause = std::make_shared<const Error>(ErrorCode::peer_lost, error.message());
  events_.on_peer_lost(peer, cause);
  barriers_->on_peer_lost(peer, cause);
  remote_tasks_->on_peer_gone(peer, cause);
}

void Node::on_peer_left(NodeId peer) {
  const std::string what = "node " + std::to_string(peer) + " has left the job";
  remote_tasks_->on_peer_gone(peer, std::make_shared<const Error>(ErrorCode::peer_lost, what));
}

}  // namespace stretto
