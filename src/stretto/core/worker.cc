#include "stretto/core/worker.h"

#include <utility>

#include "stretto/core/engine.h"

namespace stretto {

namespace {
thread_local Worker* this_worker = nullptr;  // determinism: which object the thread is, not who the thread is

// A processor whose tasks make each other ready never runs dry, and what only this worker may take would wait for ever.
constexpr unsigned most_runs_in_a_row = 256;

// Each takes two mappings, of which a process has some 65,000.
constexpr std::size_t most_idle_stacks = 256;

}  // namespace

[[gnu::hot]] Worker* Worker::current() noexcept { return this_worker; }

Worker::Worker(Engine& engine, std::size_t number, std::size_t stack_bytes, bool guarded_stacks)
    : engine_(engine), number_(number), stack_bytes_(stack_bytes), guarded_stacks_(guarded_stacks) {}

Worker::~Worker() = default;

// Tasks never run on the thread's own stack, which has to be free when the engine is done.
void Worker::run() {
  Worker* const outer = std::exchange(this_worker, this);  // a task of an outer job may run one on sim
  home_ = std::make_unique<Fiber>();
  reserve_stack();
  running_ = take_idle_stack();
  Fiber::switch_stack(*home_, *running_);
  home_.reset();
  this_worker = outer;
}

bool Worker::is_others_turn() noexcept { return ++runs_ % most_runs_in_a_row == 0 && engine_.others_wait_for(*this); }

void Worker::loop() {
  for (;;) {
    if (held_ == nullptr) {
      held_ = engine_.next(*this);
      runs_ = 0;
    }
    if (held_ == nullptr) return;
    if (is_others_turn()) {
      std::exchange(held_, nullptr)->hand_on();
    } else {
      run_held();
    }
  }
}

// Runs one thing, or lets go. `held_` may change below any call: the stack may have been left and come back to.
void Worker::run_held() {
  Runnable* const runnable = held_->pop();
  if (runnable == nullptr) {
    if (!held_->release()) held_ = nullptr;
    return;
  }
  if (runnable->pinned != nullptr && runnable->pinned != this) {
    Worker& other = *runnable->pinned;
    held_->unpop(runnable);
    engine_.make_ready_for(*std::exchange(held_, nullptr), other);
    return;
  }
  runnable->run(runnable, *this);
}

void Worker::loop_on_new_stack(void* worker) {
  auto& self = *static_cast<Worker*>(worker);
  for (;;) {
    self.loop();
    Fiber& left = *self.running_;
    self.idle_.push_back(std::move(self.running_));
    Fiber::switch_stack(left, *self.home_);
  }
}

void Worker::reserve_stack() {
  if (!idle_.empty()) return;
  idle_.push_back(std::make_unique<Fiber>(stack_bytes_, guarded_stacks_, &Worker::loop_on_new_stack, this));
}

std::unique_ptr<Fiber> Worker::take_idle_stack() noexcept {
  std::unique_ptr<Fiber> fiber = std::move(idle_.back());
  idle_.pop_back();
  return fiber;
}

void Worker::suspend(Suspended& place) noexcept {
  std::unique_ptr<Fiber> next = take_idle_stack();
  place.task = std::exchange(task_, nullptr);
  held_ = nullptr;
  place.fiber = std::exchange(running_, std::move(next));
  Fiber::switch_stack(*place.fiber, *running_);
}

void Worker::resume(Suspended& place) {
  held_ = place.processor;
  task_ = place.task;
  if (idle_.size() >= most_idle_stacks) idle_.erase(idle_.begin());
  idle_.push_back(std::exchange(running_, std::move(place.fiber)));
  Fiber& left = *idle_.back();
  Fiber::switch_stack(left, *running_);
}

}  // namespace stretto
