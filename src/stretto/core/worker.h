#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stretto/core/fiber.h"
#include "stretto/core/processor.h"

namespace stretto {

class Engine;
struct TaskRecord;

/// A thread that runs tasks: it holds one processor at a time and runs what is in its queue.
///
/// Tasks are called on the worker's own stack. A task that blocks keeps that stack; the worker goes on with its loop
/// on another one, and comes back when the task can continue. Belongs to an engine; used by its own thread only.
class Worker {
 public:
  /// `number`: among the engine's workers. `stack_bytes` for each further stack.
  Worker(Engine& engine, std::size_t number, std::size_t stack_bytes, bool guarded_stacks);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The worker that the calling thread is, or null for foreign threads.
  static Worker* current() noexcept;

  /// Runs until the engine says that it is over. Called by the thread that is to be this worker, always the same.
  void run();

  Engine& engine() const noexcept { return engine_; }
  std::size_t number() const noexcept { return number_; }
  /// The processor that is being driven; null between processors.
  Processor* held() const noexcept { return held_; }
  /// The task that is running, or null.
  TaskRecord* task() const noexcept { return task_; }
  void set_task(TaskRecord* task) noexcept { task_ = task; }

  /// A task's stack that waits. Made by `suspend`, used up by `resume`.
  struct Suspended {
    std::unique_ptr<Fiber> fiber;
    Processor* processor = nullptr;
    TaskRecord* task = nullptr;
  };

  /// Sees to it that the next `suspend` finds a stack to go on with. Throws Error(out_of_resources).
  void reserve_stack();
  /// Leaves the running task's stack in `place` and goes on with other work; returns when somebody called `resume`.
  /// The caller has seen to that, and has let go of the processor if others may use it meanwhile.
  /// REQUIRES: reserve_stack was called before.
  void suspend(Suspended& place) noexcept;
  /// Goes back to a suspended stack, whose processor this worker holds (again) from then on. Called from the loop.
  void resume(Suspended& place);

 private:
  void loop();
  bool is_others_turn() noexcept;
  void run_held();
  std::unique_ptr<Fiber> take_idle_stack() noexcept;
  static void loop_on_new_stack(void* worker);

  Engine& engine_;
  std::size_t number_;
  std::size_t stack_bytes_;
  bool guarded_stacks_;
  Processor* held_ = nullptr;
  unsigned runs_ = 0;  // so often in a row, of what it holds
  TaskRecord* task_ = nullptr;
  std::unique_ptr<Fiber> home_;  // the thread's own stack, while the worker runs
  std::unique_ptr<Fiber> running_;
  std::vector<std::unique_ptr<Fiber>> idle_;  // in the middle of loop(), waiting to be gone on with; own nothing
};

}  // namespace stretto
