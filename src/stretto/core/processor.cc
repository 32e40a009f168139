#include "stretto/core/processor.h"

#include <algorithm>
#include <utility>

#include "stretto/base/linked.h"
#include "stretto/core/engine.h"
#include "stretto/core/worker.h"

namespace stretto {

void Processor::post(Runnable* runnable) noexcept {
  const Worker* const worker = Worker::current();
  if (worker != nullptr && worker->held() == this) {
    append(runnable);
    return;
  }
  Runnable* head = incoming_.load(std::memory_order_relaxed);
  do {
    runnable->next = head;
  } while (!incoming_.compare_exchange_weak(head, runnable, std::memory_order_seq_cst, std::memory_order_relaxed));
  if (try_leave_idle()) engine_.make_ready(*this);
}

bool Processor::try_leave_idle() noexcept {
  std::uint32_t changes = changes_.load(std::memory_order_seq_cst);
  return changes % 2 == 0 && changes_.compare_exchange_strong(changes, changes + 1, std::memory_order_seq_cst);
}

Processor::Bucket& Processor::bucket(int priority) {
  if (!buckets_.empty() && buckets_.back().priority == priority) return buckets_.back();
  const auto at = std::lower_bound(buckets_.begin(), buckets_.end(), priority,
                                   [](const Bucket& other, int wanted) { return other.priority < wanted; });
  if (at != buckets_.end() && at->priority == priority) return *at;
  return *buckets_.insert(at, {priority, nullptr, nullptr});
}

void Processor::append(Runnable* runnable) noexcept {
  runnable->next = nullptr;
  Bucket& queue = bucket(runnable->priority);
  (queue.first == nullptr ? queue.first : queue.last->next) = runnable;
  queue.last = runnable;
}

void Processor::unpop(Runnable* runnable) noexcept {
  Bucket& queue = bucket(runnable->priority);
  runnable->next = queue.first;
  if (queue.first == nullptr) queue.last = runnable;
  queue.first = runnable;
}

void Processor::take_incoming() noexcept {
  Runnable* next = oldest_first(incoming_.exchange(nullptr, std::memory_order_seq_cst)).first;
  while (next != nullptr) append(std::exchange(next, next->next));
}

[[gnu::hot]] bool Processor::has_work() const noexcept {
  return incoming_.load(std::memory_order_relaxed) != nullptr || has_queued();
}

Runnable* Processor::pop() noexcept {
  if (incoming_.load(std::memory_order_relaxed) != nullptr) take_incoming();
  if (buckets_.empty()) return nullptr;
  Bucket& queue = buckets_.back();
  Runnable* const runnable = queue.first;
  queue.first = runnable->next;
  if (queue.first == nullptr) buckets_.pop_back();
  return runnable;
}

bool Processor::release() noexcept {
  changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  return incoming_.load(std::memory_order_seq_cst) != nullptr && try_leave_idle();
}

void Processor::hand_on() noexcept {
  if (has_queued() || release()) engine_.make_ready(*this);
}

}  // namespace stretto
