#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/event.h"
#include "stretto/core/event_service.h"
#include "stretto/core/future.h"
#include "stretto/core/processor.h"
#include "stretto/core/spawn_options.h"
#include "stretto/core/surroundings.h"
#include "stretto/core/task.h"
#include "stretto/fabric/bulk.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

class BarrierService;
class Engine;
class Operations;
class RemoteTasks;

/// One node of the job, which is one rank. What `main` is called with, once for each.
///
/// A process may have several nodes, which then share its global variables. Any thread may call everything here; a
/// call never blocks, apart from `wait`, but what it asks about an event of another node may wait a moment for the
/// node's baton, so that an operator under a baton must not ask: Error(invalid_state). Everything deferred takes a
/// precondition and returns an event.
class Node final : private fabric::EndpointObserver {
 public:
  /// `surroundings` outlive the node.
  Node(fabric::Endpoint& endpoint, Engine& engine, unsigned processors, const Surroundings& surroundings);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  NodeId id() const noexcept { return endpoint_.self(); }
  /// Number of nodes of the job.
  std::uint32_t size() const noexcept { return endpoint_.size(); }
  /// Number of ordinary processors of this node.
  std::uint32_t processors() const noexcept { return static_cast<std::uint32_t>(processors_.size()); }

  // Events.

  UserEvent create_user_event() { return UserEvent(events_.create()); }
  /// Triggers when all have; poisoned when one is. No events at all: no event.
  Event merge(std::span<const Event> events) { return events_.merge(events); }
  Event merge(std::initializer_list<Event> events) { return merge(std::span(events.begin(), events.size())); }
  /// The same; GCC 12 compiles no `initializer_list` inside of a `co_await` expression.
  template <std::convertible_to<Event>... Events>
  Event merge(Event first, Event second, Events... more) {
    return merge({first, second, more...});
  }
  bool has_triggered(Event event) { return events_.query(event) != EventState::untriggered; }
  /// Why an event is poisoned; null while it is not (known to be).
  Cause cause_of(Event event);
  void trigger(UserEvent event, Event precondition = no_event) { events_.trigger_after(event, precondition); }
  void poison(UserEvent event, const Error& error) { events_.trigger(event, std::make_shared<const Error>(error)); }

  /// Returns when the event has triggered; throws the cause if it is poisoned. In a task its processor runs other
  /// tasks meanwhile; a foreign thread blocks. Holding a mutex over it is misuse. Not under a baton, not in a foreign
  /// thread on `sim`: Error(invalid_state).
  void wait(Event event);

  /// The time (see now) at which an event triggers, clean or not.
  Future<double> time_of(Event event);

  /// Barriers over nodes, whose phases are events: `barriers().create(...)` and `arrive`; see barrier_service.h, which
  /// is to be included.
  BarrierService& barriers() noexcept { return *barriers_; }

  // Tasks.

  /// Runs `function` (called with this node if it takes one) as a task when the precondition has triggered. Returns
  /// its completion: an Event if it returns nothing (or Task<>), else a Future of what it returns (or its Task does).
  /// GCC 12 needs that to be named before it is awaited, where `function` is a temporary that owns something: see Task.
  /// An exception that escapes poisons the completion.
  template <class F>
  auto spawn(F&& function, const SpawnOptions& options = SpawnOptions());

  /// Runs the function `Function` (a plain one or a coroutine: `R f(Node&, Arguments...)`) as a task of another node,
  /// or of this one. Arguments and result travel as ArchiveWriter writes them, at any size.
  template <auto Function, class... Arguments>
  auto spawn_on(NodeId where, const SpawnOptions& options, Arguments&&... arguments);

  // Time.

  /// Seconds since the job began; virtual on `sim`.
  double now() const noexcept;
  /// The running task computes for `seconds`: moves virtual time on `sim`, does nothing elsewhere. In a task.
  void charge(double seconds);

  // For the layers above core.

  EventService& events() noexcept { return events_; }
  RemoteTasks& remote_tasks() noexcept { return *remote_tasks_; }
  fabric::Endpoint& endpoint() noexcept { return endpoint_; }
  fabric::Bulk& bulk() noexcept { return bulk_; }
  Engine& engine() noexcept { return engine_; }
  const Surroundings& surroundings() const noexcept { return surroundings_; }
  /// For a task on `held` that is about to wait; see Engine::linger. Whether it need not wait.
  bool linger(const Processor& held, Event event) noexcept;
  /// For who has begun something large that triggers `event`, one of this node; see Engine::attend.
  void attend(Event event, double patience) noexcept;
  /// The same where what goes to peers has to be asked for, and then takes long.
  void attend_until_asked(Event event, double patience) noexcept;
  /// The processor for a task that asks for `index`, or for none (negative).
  Processor& processor(int index);
  Processor& service_processor() noexcept { return *service_; }

  /// Attaches the part of a layer above, to be destroyed with the node, before core's own parts. See extension.h.
  void attach(std::string_view name, std::shared_ptr<void> part) { parts_.emplace_back(name, std::move(part)); }
  /// The part of that name, or null.
  void* part(std::string_view name) const noexcept {
    for (const auto& [its_name, its_part] : parts_) {
      // Who asks mostly has the very text that the part was attached with.
      if (its_name.data() == name.data() || its_name == name) return its_part.get();
    }
    return nullptr;
  }
  /// Makes a part's operations known, which outlive the node's traffic. Before the node is used.
  void add_operations(Operations& part) { operations_.push_back(&part); }
  std::span<Operations* const> operations() const noexcept { return operations_; }
  /// Fails all operations, and those that will be asked for. Any thread that serves no context.
  void cancel_operations(const Cause& cause);
  /// Whether none is under way. Any thread that serves no context.
  bool operations_are_over();
  /// See RemoteTasks::cancel. Any thread that serves no context.
  void cancel_remote_tasks(const Cause& cause);

  // For tasks and the runtime.

  void task_started() noexcept { live_tasks_.fetch_add(1, std::memory_order_relaxed); }
  void task_finished(Event completion, const Cause& failure) noexcept;
  /// From now on no task begins, but those that do in any case: it is over when it would have, poisoned with `cause`.
  /// For a job that failed: what a task was to use may be gone.
  void refuse_tasks(const Cause& cause) noexcept {
    refusal_ = cause;
    refuses_tasks_.store(true, std::memory_order_release);
  }
  bool refuses_tasks() const noexcept { return refuses_tasks_.load(std::memory_order_acquire); }
  /// Why. REQUIRES: refuses_tasks().
  const Cause& refusal() const noexcept { return refusal_; }
  std::int64_t live_tasks() const noexcept { return live_tasks_.load(std::memory_order_acquire); }
  /// Gives the record its completion, which is returned, and the task its start. Throws Error(out_of_resources): the
  /// record is still the caller's then.
  Event submit(TaskRecord& record, Event precondition);
  /// How often its processors have come to have work, and to have none; nothing while one has some, or the context has.
  std::optional<std::uint64_t> changes_at_rest() const noexcept;

 private:
  void on_notification(NodeId, fabric::Notification) override {}
  void on_peer_lost(NodeId peer, const Error& cause) override;
  void on_peer_left(NodeId peer) override;
  void wait_in_task(Event event, Cause& cause);
  void wait_in_thread(Event event, Cause& cause);

  fabric::Endpoint& endpoint_;
  Engine& engine_;
  const Surroundings& surroundings_;
  std::atomic<bool> refuses_tasks_{false};
  Cause refusal_;  // written once, before refuses_tasks_
  EventService events_;
  fabric::Bulk bulk_;
  std::unique_ptr<BarrierService> barriers_;
  std::unique_ptr<RemoteTasks> remote_tasks_;
  std::vector<std::unique_ptr<Processor>> processors_;
  std::unique_ptr<Processor> service_;
  std::atomic<std::uint32_t> next_processor_{0};
  std::atomic<std::int64_t> live_tasks_{0};
  std::vector<std::pair<std::string_view, std::shared_ptr<void>>> parts_;
  std::vector<Operations*> operations_;
};

}  // namespace stretto

#include "stretto/core/spawn.h"  // IWYU pragma: export
