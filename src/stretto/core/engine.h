#pragma once

#include <cstdint>

#include "stretto/core/event.h"
#include "stretto/fabric/context.h"
#include "stretto/fabric/overflow.h"

namespace stretto {

class EventTable;
class Processor;
class Worker;

/// The threads that drive all processors of a process, and their clock. One implementation runs in real time
/// (ThreadEngine), one in virtual time (SimEngine); processors, tasks, events and collectives are the same objects.
class Engine : public fabric::Overflow {
 public:
  /// A processor has work and nobody holds it. Called once for each time that this becomes so. Any thread.
  virtual void make_ready(Processor& processor) noexcept = 0;
  /// The same, but only `worker` may take it.
  virtual void make_ready_for(Processor& processor, Worker& worker) noexcept = 0;

  /// The next processor for `worker` to hold; waits until there is one. Null: the job is over.
  virtual Processor* next(Worker& worker) = 0;
  /// The worker has run many things of the processor that it holds, one after the other, and there may be more of them.
  /// Whether it is to let go, since others wait for it.
  virtual bool others_wait_for(Worker& worker) noexcept = 0;

  /// The running task is about to wait for an event of its own node. Instead of suspending it at once and looking for
  /// other work, its worker may look whether what arrives triggers the event, while there is no other work. Returns
  /// whenever it likes: whether it has seen that the event has triggered, and was not poisoned.
  virtual bool linger(const Processor& held, const EventTable& table, Event event) noexcept = 0;

  /// How long who has begun something stays with it: until its event has triggered, or only until peers have asked for
  /// what they get of it (fabric::Context::expects_request).
  enum class Until : std::uint8_t { triggered, asked };
  /// The calling thread has begun something large, which triggers an event of this node, with peers who are about to do
  /// likewise if they are in step. If it is a worker, it looks whether they answer, for `patience` seconds since the
  /// last time that something happened, and not for long; where others want its core, it does what it has kept instead.
  /// Then it hands over what is left.
  virtual void attend(fabric::Context& context, const EventTable& table, Event event, Until until,
                      double patience) noexcept = 0;

  /// See LongCall. Returns whether anything lies with the thread, and somebody comes for it.
  virtual bool begin_long_call(double /*seconds*/) noexcept { return false; }
  virtual void end_long_call() noexcept {}

  /// The calling thread is about to look itself for what peers send, in a call that is over soon: nobody need watch the
  /// fabric for it.
  virtual void note_look() noexcept = 0;
  /// Whether there are tasks that the calling worker could run if its own waited. A hint.
  virtual bool others_want_worker() const noexcept = 0;

  /// A task is about to begin: its launch may cost (virtual) time.
  virtual void before_task(Worker& worker) = 0;

  /// What the calling worker does from here until `end_slice` is a slice of a task: its own work, from where it begins
  /// or goes on until it ends, waits or charges.
  virtual void begin_slice() noexcept = 0;
  /// Where durations are measured or replayed, (virtual) time passes here; the processor stays held meanwhile.
  virtual void end_slice() noexcept = 0;

  /// Seconds since the job began, in the engine's time. Any thread.
  virtual double now() const noexcept = 0;

  /// The running task computes for `seconds`. In real time it just does; in virtual time the clock moves on.
  virtual void charge(Worker& worker, double seconds) = 0;

  /// Whether time is virtual.
  virtual bool simulated() const noexcept = 0;
};

/// While this exists the calling thread does something for about so many seconds that no other task need wait for:
/// other workers take at once what lies with it, and one is woken for it where all rest and that is worth it.
class LongCall {
 public:
  LongCall(Engine& engine, double seconds) noexcept : engine_(engine), leaves_tasks_(engine.begin_long_call(seconds)) {}
  ~LongCall() { engine_.end_long_call(); }
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

  /// Whether somebody comes for something.
  bool leaves_tasks() const noexcept { return leaves_tasks_; }

 private:
  Engine& engine_;
  bool leaves_tasks_;
};

/// While this exists the running task does not compute: between two slices.
class BetweenSlices {
 public:
  explicit BetweenSlices(Engine& engine) noexcept : engine_(engine) { engine_.end_slice(); }
  ~BetweenSlices() { engine_.begin_slice(); }
  BetweenSlices(const BetweenSlices&) = delete;
  BetweenSlices& operator=(const BetweenSlices&) = delete;

 private:
  Engine& engine_;
};

}  // namespace stretto
