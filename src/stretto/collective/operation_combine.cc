// The part of CollectiveOperation that a node does by itself: copies and combinations.

#include <algorithm>
#include <memory>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/base/claim_line.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/operation_entry.h"
#include "stretto/core/cause.h"
#include "stretto/core/engine.h"
#include "stretto/core/worker.h"

namespace stretto {

// A user's operator at work: outside of the baton, on the service processor.
struct CollectiveOperation::CombineTask : Runnable, fabric::Item {
  CombineTask(CollectiveOperation& owner, const Combine& what) noexcept
      : Runnable(&CombineTask::work, 0), Item(&CombineTask::done), operation(owner), combine(what) {}

  static void work(Runnable* runnable, Worker& worker) noexcept {
    auto* const task = static_cast<CombineTask*>(runnable);
    CollectiveOperation& operation = task->operation;
    worker.engine().begin_slice();
    try {
      const Combine& what = task->combine;
      operation.combine_now(what.out.data(), what.left, what.right, what.out.size());
    } catch (...) {
      task->failure = cause_of_current_exception("a reduction operator");
    }
    worker.engine().end_slice();
    operation.service_.endpoint().context().post(task);
  }

  static void done(Item* item) noexcept {
    const std::unique_ptr<CombineTask> task(static_cast<CombineTask*>(item));
    CollectiveOperation& operation = task->operation;
    operation.task_over(task->combine.step, task->failure);
  }

  CollectiveOperation& operation;
  Combine combine;
  Cause failure;
};

// An operator that is a task itself.
struct CollectiveOperation::OperatorTask : Waiter, fabric::Item {
  OperatorTask(CollectiveOperation& owner, std::uint32_t combined_step) noexcept
      : Waiter(&OperatorTask::over), Item(&OperatorTask::done), operation(owner), step(combined_step) {}

  /// Throws what begins no task.
  static void begin(CollectiveOperation& operation, const Combine& what) {
    const Reduction& reduction = operation.call_.reduction();
    Node& node = operation.service_.node();
    // First: once it has begun, somebody has to wait for it.
    auto owned = arena::make_owned<OperatorTask>(operation, what.step);
    const Event completion = reduction.spawn(node, operation.call_.operator_state.get(), what.out.data(), what.left,
                                             what.right, what.out.size() / operation.call_.element_bytes());
    OperatorTask* const task = owned.release();
    if (node.events().subscribe(completion, task, &task->failure) != EventState::untriggered) over(task, task->failure);
  }

  static void over(Waiter* waiter, const Cause& cause) noexcept {
    auto* const task = static_cast<OperatorTask*>(waiter);
    task->failure = cause;
    task->operation.service_.endpoint().context().post(task);
  }

  static void done(Item* item) noexcept {
    auto* const task = static_cast<OperatorTask*>(item);
    CollectiveOperation& operation = task->operation;
    const std::uint32_t step = task->step;
    const Cause failure = std::move(task->failure);
    arena::destroy(task);
    operation.task_over(step, failure);
  }

  CollectiveOperation& operation;
  std::uint32_t step;
  Cause failure;
};

void CollectiveOperation::start_copy(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  if (buffers_.copy(what.data, what.destination)) service_.endpoint().context().spend(cost_of(what.data.bytes));
  complete_step(step);
}

[[gnu::hot]] void CollectiveOperation::start_reduce(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  const ByteSpan out = buffers_.bytes_of(what.destination);
  const auto term = [this](const Place& place, std::uint32_t from) -> const std::byte* {
    return large_.is_granted(from) ? large_.place_of(from, 0) : buffers_.bytes_of(place).data();
  };
  const std::byte* const left = term(what.data, what.left_from);
  const std::byte* const right = term(what.right, what.right_from);
  if (out.size() <= eager_bytes && combines_.empty() && !call_.reduction().as_task) {
    combine_now(out.data(), left, right, out.size());
    combined(step);
    return;
  }
  combine_later({step, out, left, right, 0});
}

// Its first piece at once, where nothing else is being combined.
void CollectiveOperation::combine_later(const Combine& what) {
  combines_.push_back(what);
  do_piece_of_combine();
}

void CollectiveOperation::combine_now(std::byte* out, const std::byte* left, const std::byte* right,
                                      std::size_t bytes) const {
  call_.reduction().combine(call_.operator_state.get(), out, left, right, bytes / call_.element_bytes());
}

// How far it can go in one go: what a peer grants piece by piece is not there at once.
std::size_t CollectiveOperation::combinable_bytes(const Combine& combine) const {
  std::size_t bytes = combine.out.size();
  if (combine.step == Plan::none) return bytes;
  for (const std::uint32_t receive : {step_at(combine.step).left_from, step_at(combine.step).right_from}) {
    if (large_.is_granted(receive)) bytes = std::min(bytes, large_.readable_from(receive, combine.done));
  }
  return bytes / call_.element_bytes() * call_.element_bytes();
}

// From where it has come to, so many bytes.
void CollectiveOperation::combine_piece(const Combine& combine, std::size_t bytes) const {
  std::byte* const out = combine.out.data() + combine.done;
  if (combine.is_copied) {
    copy_granted(combine.step, combine.done, {out, bytes});
    return;
  }
  const auto place = [&](const std::byte* term, std::uint32_t PlacedStep::* from) {
    const std::uint32_t receive = combine.step == Plan::none ? Plan::none : step_at(combine.step).*from;
    return large_.is_granted(receive) ? large_.place_of(receive, combine.done) : term + combine.done;
  };
  combine_now(out, place(combine.left, &PlacedStep::left_from), place(combine.right, &PlacedStep::right_from), bytes);
}

// What a receive is granted, from byte `at` on.
void CollectiveOperation::copy_granted(std::uint32_t receive, std::size_t at, ByteSpan out) const {
  const ByteSpan granted(large_.place_of(receive, at), out.size());
  large_.is_to_be_claimed(receive) ? copy_and_claim(out.data(), granted) : copy_bytes(out.data(), granted);
}

// How far a reduce that is being done has come.
std::size_t CollectiveOperation::combined_by(std::uint32_t reduce) const noexcept {
  for (const Combine& each : combines_) {
    if (each.step == reduce && reduce != Plan::none) return each.done;
  }
  return 0;
}

void CollectiveOperation::do_piece_of_combine() {
  if (combining_in_task_ || stage_ != Stage::begun) return;
  for (std::size_t index = 0; index < combines_.size(); ++index) {
    Combine& combine = combines_[index];
    const std::size_t available = combinable_bytes(combine);
    if (call_.reduction().as_task) {
      if (available < combine.out.size()) continue;
      hand_to_task(index);
      return;
    }
    if (available == combine.done && available < combine.out.size()) continue;
    const std::size_t most = std::max(piece_bytes / call_.element_bytes(), std::size_t{1}) * call_.element_bytes();
    const std::size_t bytes = std::min(most, available - combine.done);
    combine_piece(combine, bytes);
    service_.endpoint().context().spend(cost_of(bytes));
    combine.done += bytes;
    const std::uint32_t step = combine.step;
    if (step != Plan::none) large_.note_combined(step, combine.done);
    if (combine.done == combine.out.size()) {
      combines_.erase(combines_.begin() + static_cast<std::ptrdiff_t>(index));
      combined(step);
    }
    if (!combines_.empty()) take_turn_later();
    return;
  }
}

// Throws what begins no task.
void CollectiveOperation::hand_to_task(std::size_t index) {
  const Combine what = combines_[index];
  if (call_.reduction().spawn == nullptr) {
    service_.node().service_processor().post(new CombineTask(*this, what));
  } else {
    OperatorTask::begin(*this, what);
  }
  // That it is over is said under the baton, so after this.
  combines_.erase(combines_.begin() + static_cast<std::ptrdiff_t>(index));
  combining_in_task_ = true;
  ++under_way_;
}

void CollectiveOperation::task_over(std::uint32_t step, const Cause& failure) {
  const Entry entry(*this);
  --under_way_;
  combining_in_task_ = false;
  if (stage_ == Stage::failed) {
    finish_if_untouched();
  } else if (failure != nullptr) {
    fail(failure, Tell::everybody);
  } else {
    combined(step);
    run();
  }
}

// REQUIRES: `step` (none: a shard) has been combined.
[[gnu::hot]] void CollectiveOperation::combined(std::uint32_t step) {
  if (step != Plan::none) {
    for (const std::uint32_t receive : {step_at(step).left_from, step_at(step).right_from}) {
      if (receive != Plan::none) large_.end_pulled(receive);
    }
    complete_step(step);
  } else if (combines_.empty()) {
    states_.begin(plan_->beginning());
  }
  if (!combines_.empty()) take_turn_later();
}

}  // namespace stretto
