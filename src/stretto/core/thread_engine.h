#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "stretto/core/beds.h"
#include "stretto/core/engine.h"
#include "stretto/core/fabric_watch.h"
#include "stretto/core/idling.h"
#include "stretto/core/nap.h"
#include "stretto/core/ready_queue.h"
#include "stretto/core/worker.h"

namespace stretto {

/// Real time: worker threads for the ordinary processors, and one more, mostly asleep, for what must go on while every
/// worker is in a long task: service processors, work that outgrew a passing thread, a fabric that nobody polls.
///
/// A worker with nothing to do polls the fabric for a moment, then yields, then sleeps; a sleeping process uses no cpu.
/// Created before the nodes; `start` after them; any thread may call make_ready and hand_over.
class ThreadEngine final : public Engine {
 public:
  struct Options {
    Options() {}
    unsigned workers = 1;
    std::size_t stack_bytes = std::size_t{256} << 10U;
    /// Of those that the process may use: each worker keeps to one from here on, the service thread to the same ones.
    std::optional<std::size_t> first_core;
    Idling::Limits idling;
    /// Of all of the job's processes on this host, rounded up.
    unsigned workers_per_core = 1;
  };

  ThreadEngine();
  ~ThreadEngine() override;

  /// Starts the threads. Those of `endpoints` that have a descriptor are polled; they outlive the engine's `stop`.
  void start(const Options& options, std::span<fabric::Endpoint* const> endpoints);
  /// Ends the threads. REQUIRES: no task is left.
  void stop();

  void make_ready(Processor& processor) noexcept override;
  void make_ready_for(Processor& processor, Worker& worker) noexcept override;
  Processor* next(Worker& worker) override;
  bool others_wait_for(Worker& worker) noexcept override;
  bool linger(const Processor& held, const EventTable& table, Event event) noexcept override;
  void attend(fabric::Context& context, const EventTable& table, Event event, Until until,
              double patience) noexcept override;
  bool begin_long_call(double seconds) noexcept override;
  void end_long_call() noexcept override;
  void note_look() noexcept override;
  bool others_want_worker() const noexcept override;
  void before_task(Worker&) override {}
  void begin_slice() noexcept override {}
  void end_slice() noexcept override {}
  double now() const noexcept override;
  void charge(Worker&, double) override {}
  bool simulated() const noexcept override { return false; }
  void hand_over(fabric::Context& context) noexcept override;

 private:
  // A thread's place: its worker, what only it may run, and its bed.
  struct Seat {
    Seat(ThreadEngine& engine, bool serves);
    ~Seat();
    // Who it is to the FabricWatch, and which bed it has among its like.
    int watcher() const noexcept { return service ? FabricWatch::service : static_cast<int>(worker.number()); }
    std::size_t bed() const noexcept { return service ? 0 : worker.number(); }

    ReadyQueue local;
    ReadyQueue own;  // what only this worker may take
    Worker worker;
    std::uint64_t requests_at_turn = 0;  // see Idling
    unsigned taken = 0;                  // processors, from wherever
    std::vector<Neglect> neglect;        // by seat
    Nap nap;
    std::thread thread;
    int bell;  // eventfd
    bool service;
    bool has_napped = false;           // and has not looked for work since; its own
    bool was_woken = false;            // likewise
    bool gave_way = false;             // to who waits, when it searched last; its own
    std::atomic<bool> attends{false};  // see attend
  };

  void work_at(Seat& seat);
  void bind(const Seat& seat) const;
  const Worker* own_worker() const noexcept;
  Seat& seat_of(const Worker& worker) const noexcept;
  bool make_ready_here(Processor& processor) noexcept;
  Processor* take(Seat& seat);
  Processor* take_shared(Seat& seat);
  Processor* take_neglected(Seat& seat);
  bool anyone_has_work(const Seat& seat) const noexcept;
  std::uint32_t taken_by_others(const Seat& seat) const noexcept;
  bool has_work(const Seat& seat) const noexcept;
  std::atomic<std::uint32_t>& waiting_for(bool service) noexcept {
    return service ? waiting_for_service_ : waiting_for_workers_;
  }
  Beds& beds_of(const Seat& seat) noexcept { return seat.service ? service_bed_ : beds_; }
  bool has_tasks_for(const Seat& seat) const noexcept;
  bool others_want(const Processor& held, const Seat& seat) const noexcept;
  bool somebody_takes_tasks() const noexcept;
  bool search(Seat& seat, bool has_worked, Processor*& found);
  bool look_for_tasks(Seat& seat, bool has_worked, Processor*& found);
  bool has_reason_to_get_up(Seat& seat, Processor*& found);
  void await_late_peers(Seat& seat, fabric::Context& context, const EventTable& table, Event event, Until until,
                        double patience) noexcept;
  bool leave_tasks(const Seat& seat, double seconds) noexcept;
  void do_what_is_kept(fabric::Context& context) noexcept;
  bool is_over_for(const Seat& seat) const noexcept;
  bool decide_to_nap(Seat& seat) noexcept;
  void pass_on(const Seat& seat) noexcept;
  template <class Look, class Over>
  bool idle(Seat& seat, Idling& idling, const Look& look, const Over& over) noexcept;
  bool serve_overflow();
  bool do_what_was_put_off() noexcept;
  void sleep(Seat& seat);
  bool doze(Seat& seat, bool armed);
  std::optional<timespec> alarm(const Seat& seat, bool armed);
  void wake_service() noexcept;
  void ring(Seat& seat) noexcept;
  Seat* wake_one_locked(bool service, Beds::Whom whom = Beds::Whom::all) noexcept;
  void wake_one_for_tasks(Beds::Whom whom) noexcept;
  void arrive(Seat& seat) noexcept;

  Options options_;
  std::chrono::steady_clock::time_point started_;  // determinism: this engine is the one that runs in real time
  std::vector<std::unique_ptr<Seat>> seats_;       // the last one is the service seat
  FabricWatch watch_;
  std::span<fabric::Endpoint* const> endpoints_;

  std::mutex mutex_;
  Beds beds_{0};  // of workers
  Beds service_bed_{1};
  ReadyList ordinary_;
  ReadyList service_;
  std::vector<fabric::Context*> overflow_;
  // Lengths of the lists: hints read without the lock.
  std::atomic<std::uint32_t> waiting_for_workers_{0};
  std::atomic<std::uint32_t> waiting_for_service_{0};
  std::atomic<int> searching_{0};
  // Ordinary workers; who is woken is asleep until it has come.
  std::atomic<int> asleep_{0};
  std::atomic<int> napping_{0};  // not among those asleep
  std::atomic<int> coming_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace stretto
