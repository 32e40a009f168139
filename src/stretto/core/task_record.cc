#include "stretto/core/task_record.h"

#include <utility>

#include "stretto/core/cause.h"
#include "stretto/core/engine.h"
#include "stretto/core/node.h"
#include "stretto/core/worker.h"

namespace stretto {

void TaskRecord::OwnWaiter::fire_record(Waiter* waiter, const Cause& cause) noexcept {
  TaskRecord& record = static_cast<OwnWaiter*>(waiter)->record;
  if (cause != nullptr) record.cause = cause;
  record.processor.post(&record);
}

void TaskRecord::start(Runnable* runnable, Worker& worker) noexcept {
  auto& record = *static_cast<TaskRecord*>(runnable);
  record.run = &TaskRecord::go_on;
  record.run_part(worker, record.launch(worker), [&record] { record.behaviour.begin(record); });
}

void TaskRecord::go_on(Runnable* runnable, Worker& worker) noexcept {
  auto& record = *static_cast<TaskRecord*>(runnable);
  record.run_part(worker, nullptr, [&record] { record.next_resume = std::exchange(record.suspended, nullptr); });
}

// Returns why it does not begin; null if it does.
Cause TaskRecord::launch(Worker& worker) noexcept {
  if (cause != nullptr) return std::exchange(cause, nullptr);
  if (is_refusable && node.refuses_tasks()) return node.refusal();
  try {
    worker.engine().before_task(worker);
  } catch (...) {
    return cause_of_current_exception("the launch of a task");
  }
  return nullptr;
}

// Up to where it waits, or to its end, which is here if it has failed. `enter` is where it begins or goes on.
template <class Enter>
void TaskRecord::run_part(Worker& worker, Cause failure, const Enter& enter) noexcept {
  bool done = true;
  worker.set_task(this);
  worker.engine().begin_slice();
  if (failure == nullptr) {
    try {
      enter();
      if (is_coroutine) done = run_coroutines();
    } catch (...) {
      failure = cause_of_current_exception("a task");
    }
  }
  if (done) {
    finish(worker, failure);
  } else {
    worker.set_task(nullptr);
  }
}

bool TaskRecord::run_coroutines() {
  while (next_resume) std::exchange(next_resume, nullptr).resume();
  if (suspended) return false;
  behaviour.take_result(*this);
  return true;
}

// What its callable owns still belongs to the task as it goes: it may ask for the node, and wait.
void TaskRecord::finish(Worker& worker, const Cause& failure) noexcept {
  Node& its_node = node;
  const Event its_completion = completion;
  behaviour.destroy(*this);
  worker.set_task(nullptr);
  worker.engine().end_slice();
  its_node.task_finished(its_completion, failure);
}

}  // namespace stretto
