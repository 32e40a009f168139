#pragma once

#include <cstdint>
#include <vector>

#include "stretto/core/engine.h"
#include "stretto/core/worker.h"
#include "stretto/fabric/sim/sim_fabric.h"

namespace stretto {

/// Virtual time: one thread that runs processors and delivers messages in the order of a timeline.
///
/// Each processor becomes ready as an action of the timeline, so the seed decides the order among nodes. Time moves
/// only between actions; a task takes the launch cost of the fabric's options plus what it charges.
class SimEngine final : public Engine {
 public:
  explicit SimEngine(fabric::SimFabric& fabric);

  /// Runs in the calling thread until `finished()` holds or nothing can happen any more. Returns whether it finished.
  bool run(bool (*finished)(void*), void* argument);

  /// From now on also the tasks of dead nodes run, so that what they hold can be freed. For the end of the job.
  void exhume();

  void make_ready(Processor& processor) noexcept override;
  void make_ready_for(Processor& processor, Worker& worker) noexcept override;
  Processor* next(Worker& worker) override;
  void linger(const Processor&, const EventTable&, Event) noexcept override {}
  void before_task(Worker& worker) override;
  double now() const noexcept override;
  void charge(Worker& worker, double seconds) override;
  bool simulated() const noexcept override { return true; }
  void hand_over(fabric::Context&) noexcept override {}

 private:
  class ProcessorReady;
  class ChargeOver;

  bool runs(const Processor& processor) const;

  fabric::SimFabric& fabric_;
  Worker worker_;
  double launch_;
  Processor* ready_ = nullptr;            // set by the action that just ran
  Worker::Suspended* charged_ = nullptr;  // likewise
  bool (*finished_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool stuck_ = false;
  bool unwinding_ = false;
  // What would have run on nodes that died.
  std::vector<Processor*> buried_ready_;
  std::vector<Worker::Suspended*> buried_charged_;
};

}  // namespace stretto
