#pragma once

#include <coroutine>
#include <cstdint>

#include "stretto/core/event.h"
#include "stretto/core/processor.h"
#include "stretto/core/waiter.h"

namespace stretto {

class Node;

/// One spawned task, from spawn until its completion event. Lives in the arena, together with its callable; owns the
/// frame of its coroutine, if it is one. Once spawned only its processor touches it, except through the waiter.
struct TaskRecord : Runnable {
  /// What differs by the type of the callable.
  struct Behaviour {
    /// Calls it. A coroutine's first part only sets `next`. May throw what the task throws.
    void (*begin)(TaskRecord&);
    /// The coroutine is done: stores its value, or throws what escaped from it.
    void (*take_result)(TaskRecord&);
    /// Frees the record.
    void (*destroy)(TaskRecord&) noexcept;
  };

  TaskRecord(const Behaviour& its_behaviour, Node& its_node, Processor& its_processor, int its_priority) noexcept
      : Runnable(&TaskRecord::start, its_priority),
        behaviour(its_behaviour),
        node(its_node),
        processor(its_processor),
        waiter(*this) {}

  struct OwnWaiter : Waiter {
    explicit OwnWaiter(TaskRecord& record_of) noexcept : Waiter(&OwnWaiter::fire_record), record(record_of) {}
    static void fire_record(Waiter* waiter, const Cause& cause) noexcept;
    TaskRecord& record;
  };

  /// Runs it for the first time, if its precondition was clean.
  static void start(Runnable* runnable, Worker& worker) noexcept;
  /// Goes on with a coroutine whose event has triggered.
  static void go_on(Runnable* runnable, Worker& worker) noexcept;

  /// Resumes coroutines one after the other until one is suspended for an event or all are done. This trampoline is
  /// what GCC 12 needs instead of symmetric transfer, which overflows the stack in unoptimised builds.
  bool run_coroutines();

  Cause launch(Worker& worker) noexcept;
  template <class Enter>
  void run_part(Worker& worker, Cause failure, const Enter& enter) noexcept;
  void finish(Worker& worker, const Cause& failure) noexcept;

  const Behaviour& behaviour;
  Node& node;
  Processor& processor;
  Event completion;
  OwnWaiter waiter;                     // for the precondition, later for whatever the coroutine awaits
  Cause cause;                          // why that failed, if it did
  std::coroutine_handle<> next_resume;  // to be resumed now
  std::coroutine_handle<> suspended;    // to be resumed when the awaited event triggers
  bool is_coroutine = false;
  bool is_refusable = true;  // does not begin in a job that has failed
};

}  // namespace stretto
