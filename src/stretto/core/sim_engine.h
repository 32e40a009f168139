#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/core/engine.h"
#include "stretto/core/worker.h"
#include "stretto/fabric/sim/sim_fabric.h"
#include "stretto/fabric/sim/slice_clock.h"

namespace stretto {

/// Virtual time: one thread that runs processors and delivers messages in the order of a timeline.
///
/// Each processor becomes ready as an action of the timeline, so the seed decides the order among nodes. Time moves
/// only between actions; a task takes the launch cost of the fabric's options plus what it charges, and, if the options
/// ask for it, what its slices took on this machine or in a recorded run.
class SimEngine final : public Engine {
 public:
  /// Throws Error(io) or Error(bad_input) when the options name a recording that cannot be written or replayed.
  explicit SimEngine(fabric::SimFabric& fabric);

  /// Runs in the calling thread until `finished()` holds or nothing can happen any more. Returns whether it finished.
  /// Stops early, as if finished, when there is a failure().
  bool run(bool (*finished)(void*), void* argument);

  /// What is wrong with the durations of slices, such as a replay that has no more of them; null while nothing is.
  const Cause& failure() const noexcept { return failure_; }

  /// From now on also the tasks of dead nodes run, so that what they hold can be freed, and slices take no time. For
  /// the end of the job.
  void exhume();
  /// Writes the durations of the slices, if they were to be recorded. Throws Error(io).
  void save_durations();

  void make_ready(Processor& processor) noexcept override;
  void make_ready_for(Processor& processor, Worker& worker) noexcept override;
  Processor* next(Worker& worker) override;
  bool others_wait_for(Worker& worker) noexcept override;
  bool linger(const Processor&, const EventTable&, Event) noexcept override { return false; }
  void attend(fabric::Context&, const EventTable&, Event, Until, double) noexcept override {}
  void note_look() noexcept override {}
  bool others_want_worker() const noexcept override { return false; }
  void before_task(Worker& worker) override;
  void begin_slice() noexcept override;
  void end_slice() noexcept override;
  double now() const noexcept override;
  void charge(Worker& worker, double seconds) override;
  bool simulated() const noexcept override { return true; }
  void hand_over(fabric::Context&) noexcept override {}

 private:
  class ProcessorReady;
  class ChargeOver;

  bool runs(const Processor& processor) const;
  void note_end_of_time();
  void note_that_time_stands_still(const Processor& held);
  void check_end(const char* what, double seconds) const;
  void pass(fabric::VirtualTime duration);
  bool do_what_was_put_off();

  fabric::SimFabric& fabric_;
  Worker worker_;
  double launch_;
  std::unique_ptr<fabric::SliceClock> clock_;  // null: slices take no time
  Cause failure_;
  Processor* ready_ = nullptr;            // set by the action that just ran
  Worker::Suspended* charged_ = nullptr;  // likewise
  bool (*finished_)(void*) = nullptr;
  void* argument_ = nullptr;
  // Since when, and how often, it was asked whether others wait for who had run many things of a processor.
  fabric::VirtualTime stands_since_ = 0;
  std::uint32_t looks_since_ = 0;
  bool stuck_ = false;
  bool unwinding_ = false;
  // What would have run on nodes that died.
  std::vector<Processor*> buried_ready_;
  std::vector<Worker::Suspended*> buried_charged_;
};

}  // namespace stretto
