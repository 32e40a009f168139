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
  if (record.cause != nullptr) {
    record.finish(std::exchange(record.cause, nullptr));
    return;
  }
  if (record.node.refuses_tasks() && record.is_refusable) {
    record.finish(record.node.refusal());
    return;
  }
  record.run = &TaskRecord::go_on;
  Cause failure;
  bool done = true;
  try {
    worker.engine().before_task(worker);
    worker.set_task(&record);
    worker.engine().begin_slice();
    record.behaviour.begin(record);
    if (record.is_coroutine) done = record.run_coroutines();
  } catch (...) {
    failure = cause_of_current_exception("a task");
  }
  if (done) worker.engine().end_slice();
  worker.set_task(nullptr);
  if (done) record.finish(failure);
}

void TaskRecord::go_on(Runnable* runnable, Worker& worker) noexcept {
  auto& record = *static_cast<TaskRecord*>(runnable);
  Cause failure;
  bool done = true;
  worker.set_task(&record);
  worker.engine().begin_slice();
  record.next_resume = std::exchange(record.suspended, nullptr);
  try {
    done = record.run_coroutines();
  } catch (...) {
    failure = cause_of_current_exception("a coroutine");
  }
  if (done) worker.engine().end_slice();
  worker.set_task(nullptr);
  if (done) record.finish(failure);
}

bool TaskRecord::run_coroutines() {
  while (next_resume) std::exchange(next_resume, nullptr).resume();
  if (suspended) return false;
  behaviour.take_result(*this);
  return true;
}

void TaskRecord::finish(const Cause& failure) noexcept {
  Node& its_node = node;
  const Event its_completion = completion;
  behaviour.destroy(*this);
  its_node.task_finished(its_completion, failure);
}

}  // namespace stretto
