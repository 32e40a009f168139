#include "stretto/collective/local_steps.h"

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
struct LocalSteps::CombineTask : Runnable, fabric::Item {
  CombineTask(LocalSteps& steps, const Work& what) noexcept
      : Runnable(&CombineTask::combine, 0), Item(&CombineTask::done), owner(steps), work(what) {}

  static void combine(Runnable* runnable, Worker& worker) noexcept {
    auto* const task = static_cast<CombineTask*>(runnable);
    worker.engine().begin_slice();
    try {
      const Work& what = task->work;
      task->owner.combine(what.out.data(), nullptr, what.left, what.right, what.out.size());
    } catch (...) {
      task->failure = cause_of_current_exception("a reduction operator");
    }
    worker.engine().end_slice();
    task->owner.operation_.service_.endpoint().context().post(task);
  }

  static void done(Item* item) noexcept {
    const std::unique_ptr<CombineTask> task(static_cast<CombineTask*>(item));
    task->owner.task_over(task->work.step, task->failure);
  }

  LocalSteps& owner;
  Work work;
  Cause failure;
};

// An operator that is a task itself.
struct LocalSteps::OperatorTask : Waiter, fabric::Item {
  OperatorTask(LocalSteps& steps, std::uint32_t combined_step) noexcept
      : Waiter(&OperatorTask::over), Item(&OperatorTask::done), owner(steps), step(combined_step) {}

  /// Throws what begins no task.
  static void begin(LocalSteps& owner, const Work& what) {
    const CollectiveCall& call = owner.operation_.call_;
    Node& node = owner.operation_.service_.node();
    // First: once it has begun, somebody has to wait for it.
    auto owned = arena::make_owned<OperatorTask>(owner, what.step);
    const Event completion = call.reduction().spawn(node, call.operator_state.get(), what.out.data(), what.left,
                                                    what.right, what.out.size() / call.element_bytes());
    OperatorTask* const task = owned.release();
    if (node.events().subscribe(completion, task, &task->failure) != EventState::untriggered) over(task, task->failure);
  }

  static void over(Waiter* waiter, const Cause& cause) noexcept {
    auto* const task = static_cast<OperatorTask*>(waiter);
    task->failure = cause;
    task->owner.operation_.service_.endpoint().context().post(task);
  }

  static void done(Item* item) noexcept {
    auto* const task = static_cast<OperatorTask*>(item);
    LocalSteps& owner = task->owner;
    const std::uint32_t step = task->step;
    const Cause failure = std::move(task->failure);
    arena::destroy(task);
    owner.task_over(step, failure);
  }

  LocalSteps& owner;
  std::uint32_t step;
  Cause failure;
};

void LocalSteps::start_copy(std::uint32_t step) {
  if (operation_.large_.can_send_more()) {
    put_off_.push_back(step);
    operation_.take_turn_later();
  } else {
    copy(step);
  }
}

void LocalSteps::copy_put_off() {
  if (operation_.large_.can_send_more()) return;
  for (const std::uint32_t step : std::exchange(put_off_, {})) copy(step);
}

void LocalSteps::copy(std::uint32_t step) {
  const PlacedStep& what = operation_.step_at(step);
  const ByteSpan from = operation_.buffers_.bytes_of(what.data);
  const ByteSpan to = operation_.buffers_.bytes_of(what.destination);
  if (from.size() > memory_piece_bytes && from.data() != to.data()) {
    do_later(copy_of(step, to, from));
    return;
  }
  if (operation_.buffers_.copy(what.data, what.destination)) {
    operation_.service_.endpoint().context().spend(cost_of(from.size()));
  }
  operation_.complete_step(step);
}

[[gnu::hot]] void LocalSteps::start_reduce(std::uint32_t step) {
  const PlacedStep& what = operation_.step_at(step);
  const ByteSpan out = operation_.buffers_.bytes_of(what.destination);
  const Work work{step, out, nullptr, nullptr};
  if (out.size() <= eager_bytes && works_.empty() && !operation_.call_.reduction().as_task) {
    do_piece_of(work, {out.size()});
    combined(step);
    return;
  }
  do_later(work);
}

void LocalSteps::copy_granted(std::uint32_t receive) {
  do_later({receive, operation_.data_of(receive), nullptr, nullptr,
            operation_.large_.transfers()[receive].window.taken(), true});
}

void LocalSteps::add_shards(ByteSpan output, ConstByteSpan first, std::span<const ConstByteSpan> further) {
  if (output.data() != first.data()) works_.push_back(copy_of(Plan::none, output, first));
  for (const ConstByteSpan shard : further) works_.push_back({Plan::none, output, output.data(), shard.data()});
}

void LocalSteps::do_later(const Work& work) {
  works_.push_back(work);
  do_piece();
}

// Once more to `also`, if there is that.
void LocalSteps::combine(std::byte* out, std::byte* also, const std::byte* left, const std::byte* right,
                         std::size_t bytes) const {
  const CollectiveCall& call = operation_.call_;
  const std::size_t count = bytes / call.element_bytes();
  if (also == nullptr) {
    call.reduction().combine(call.operator_state.get(), out, left, right, count);
  } else {
    call.reduction().combine_twice(call.operator_state.get(), out, also, left, right, count);
  }
}

// How far it can go in one go: what a peer grants piece by piece is not there at once.
std::size_t LocalSteps::available_of(const Work& work) const {
  std::size_t bytes = work.out.size();
  if (work.step == Plan::none) return bytes;
  const PlacedStep& what = operation_.step_at(work.step);
  for (const std::uint32_t receive : {what.left_from, what.right_from}) {
    const Transfers& transfers = operation_.large_.transfers();
    if (transfers.is_granted(receive)) bytes = std::min(bytes, transfers.readable_from(receive, work.done));
  }
  const std::size_t element = operation_.call_.element_bytes();
  return bytes / element * element;
}

// From where it has come to.
void LocalSteps::do_piece_of(const Work& work, const Piece& piece) const {
  std::byte* const out = work.out.data() + work.done;
  const std::size_t bytes = piece.bytes;
  if (work.is_copied) {
    if (work.left == nullptr) {
      operation_.large_.read_granted(work.step, work.done, {out, bytes});
    } else {
      copy_bytes(out, {work.left + work.done, bytes});
    }
    return;
  }
  const std::byte* const left = term(work, PrivateReads::Side::left, {out, bytes});
  const std::byte* const right = term(work, PrivateReads::Side::right, {out, bytes});
  const Claimed claimed = claimed_by(work, bytes);
  const bool claims = !claimed.left.empty() || !claimed.right.empty();
  // Whole elements at a time, while the lines of what is claimed are at hand.
  const std::size_t element = operation_.call_.element_bytes();
  const std::size_t most = claims ? std::max(claimed_at_once / element, std::size_t{1}) * element : bytes;
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t length = std::min(most, bytes - at);
    combine(out + at, piece.also == nullptr ? nullptr : piece.also + at, left + at, right + at, length);
    if (!claimed.left.empty()) claim_lines(claimed.left.subspan(at, length));
    if (!claimed.right.empty()) claim_lines(claimed.right.subspan(at, length));
  }
}

// Of so many bytes that come next. Who stages them counts on that.
LocalSteps::Claimed LocalSteps::claimed_by(const Work& work, std::size_t bytes) const noexcept {
  if (work.step == Plan::none) return {};
  const auto claimed = [&](std::uint32_t receive) {
    const LargeMessages& large = operation_.large_;
    return large.transfers().is_claimed(receive) ? ByteSpan(large.place_of(receive, work.done), bytes) : ByteSpan();
  };
  const PlacedStep& what = operation_.step_at(work.step);
  return {claimed(what.left_from), claimed(what.right_from)};
}

// Of a shard; or, of a step, here or granted by a peer, to be combined at `out`.
const std::byte* LocalSteps::term(const Work& work, PrivateReads::Side side, ByteSpan out) const {
  const bool is_left = side == PrivateReads::Side::left;
  if (work.step == Plan::none) return (is_left ? work.left : work.right) + work.done;
  const PlacedStep& what = operation_.step_at(work.step);
  const auto own = [&](const Place& place) { return operation_.buffers_.bytes_of(place).data() + work.done; };
  const LargeMessages& large = operation_.large_;
  const std::uint32_t receive = is_left ? what.left_from : what.right_from;
  if (!large.transfers().is_granted(receive)) return own(is_left ? what.data : what.right);
  const bool is_other_granted = large.transfers().is_granted(is_left ? what.right_from : what.left_from);
  const std::byte* const other = is_other_granted ? nullptr : own(is_left ? what.right : what.data);
  return large.granted_term(receive, work.done, {side, out, other});
}

bool LocalSteps::awaits_more_of(std::uint32_t receive) const noexcept {
  const Transfers& transfers = operation_.large_.transfers();
  if (!transfers.is_granted(receive)) return false;
  return std::any_of(works_.begin(), works_.end(), [&](const Work& work) {
    if (work.step == Plan::none) return false;
    const PlacedStep& what = operation_.step_at(work.step);
    if (what.left_from != receive && what.right_from != receive) return false;
    const bool needs_all = operation_.call_.reduction().as_task && !work.is_copied;
    return transfers.readable_from(receive, work.done) < (needs_all ? work.out.size() : work.done + 1);
  });
}

std::size_t LocalSteps::combined_by(std::uint32_t reduce) const noexcept {
  for (const Work& each : works_) {
    if (each.step == reduce && reduce != Plan::none) return each.done;
  }
  return 0;
}

void LocalSteps::do_piece() {
  if (in_task_ || !operation_.is_begun()) return;
  for (std::size_t index = 0; index < works_.size(); ++index) {
    Work& work = works_[index];
    const std::size_t available = available_of(work);
    if (operation_.call_.reduction().as_task && !work.is_copied) {
      if (available < work.out.size()) continue;
      hand_to_task(index);
      return;
    }
    if (available == work.done && available < work.out.size()) continue;
    const Piece piece = next_piece(work, available);
    do_piece_of(work, piece);
    operation_.service_.endpoint().context().spend(cost_of(piece.bytes));
    work.done += piece.bytes;
    const std::uint32_t step = work.step;
    if (step != Plan::none) operation_.large_.note_combined(step, work.done, piece.send);
    if (work.done == work.out.size()) {
      works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(index));
      combined(step);
    }
    if (!works_.empty()) operation_.take_turn_later();
    return;
  }
}

// Whether the kernel copies what is to be combined or copied.
bool LocalSteps::reads_privately(const Work& work) const {
  if (work.step == Plan::none) return false;
  const PlacedStep& what = operation_.step_at(work.step);
  const Transfers& transfers = operation_.large_.transfers();
  return transfers.is_private(what.left_from) || transfers.is_private(what.right_from);
}

// Whole elements.
LocalSteps::Piece LocalSteps::next_piece(const Work& work, std::size_t available) const {
  const std::size_t element = operation_.call_.element_bytes();
  const auto at_most = [&](std::size_t bytes) {
    return std::min(std::max(bytes / element, std::size_t{1}) * element, available - work.done);
  };
  const std::size_t most = at_most(reads_privately(work) ? large_piece_bytes : memory_piece_bytes);
  if (work.is_copied || work.step == Plan::none) return {most};
  const LargeMessages::Follower follower =
      operation_.large_.follower_of(work.step, work.done, at_most(large_piece_bytes));
  const std::size_t bytes = follower.place.size() / element * element;
  if (bytes == 0) return {most};
  if (!operation_.large_.stores_at_once(follower)) return {bytes};
  return {bytes, follower.place.data(), follower.send};
}

// Throws what begins no task.
void LocalSteps::hand_to_task(std::size_t index) {
  Work work = works_[index];
  work.left = term(work, PrivateReads::Side::left, work.out);
  work.right = term(work, PrivateReads::Side::right, work.out);
  if (operation_.call_.reduction().spawn == nullptr) {
    operation_.service_.node().service_processor().post(new CombineTask(*this, work));
  } else {
    OperatorTask::begin(*this, work);
  }
  // That it is over is said under the baton, so after this.
  works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(index));
  in_task_ = true;
  ++operation_.under_way_;
}

void LocalSteps::task_over(std::uint32_t step, const Cause& failure) {
  const CollectiveOperation::Entry entry(operation_);
  --operation_.under_way_;
  in_task_ = false;
  if (operation_.stage_ == CollectiveOperation::Stage::failed) {
    operation_.finish_if_untouched();
  } else if (failure != nullptr) {
    operation_.fail(failure, CollectiveOperation::Tell::everybody);
  } else {
    operation_.or_fail([this, step] { combined(step); });
    operation_.run();
  }
}

// REQUIRES: `step` (none: a shard) has been combined.
[[gnu::hot]] void LocalSteps::combined(std::uint32_t step) {
  if (step != Plan::none) {
    const PlacedStep& what = operation_.step_at(step);
    for (const std::uint32_t receive : {what.left_from, what.right_from}) {
      if (receive != Plan::none) operation_.large_.end_pulled(receive);
    }
    operation_.complete_step(step);
  } else if (works_.empty()) {
    operation_.states_.begin(operation_.plan().beginning());
  }
  if (!works_.empty()) operation_.take_turn_later();
}

}  // namespace stretto
