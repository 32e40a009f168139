#include "stretto/core/waiter.h"

#include <utility>
#include <vector>

#include "stretto/base/linked.h"

namespace stretto {

namespace {

// Where a waiter's fire leads to further triggers, their waiters queue up here.
struct FireQueue {
  struct Poisoned {
    Waiter* first;
    Cause cause;
  };
  bool active = false;
  Waiter* first = nullptr;
  Waiter* last = nullptr;
  std::vector<Poisoned> poisoned;
};

thread_local FireQueue fire_queue;  // determinism: holds nothing between two calls from outside

void fire_list(Waiter* first, const Cause& cause) noexcept {
  while (first != nullptr) {
    Waiter* const next = first->next;  // the record may be gone after its waiter fired
    first->fire(first, cause);
    first = next;
  }
}

}  // namespace

void fire_all(Waiter* newest, const Cause& cause) noexcept {
  if (newest == nullptr) return;
  FireQueue& queue = fire_queue;
  const Linked<Waiter> list = oldest_first(newest);
  if (queue.active) {
    if (cause != nullptr) {
      queue.poisoned.push_back({list.first, cause});
    } else {
      (queue.first == nullptr ? queue.first : queue.last->next) = list.first;
      queue.last = list.last;
    }
    return;
  }
  queue.active = true;
  fire_list(list.first, cause);
  while (queue.first != nullptr || !queue.poisoned.empty()) {
    fire_list(std::exchange(queue.first, nullptr), nullptr);
    if (!queue.poisoned.empty()) {
      const FireQueue::Poisoned next = std::move(queue.poisoned.back());
      queue.poisoned.pop_back();
      fire_list(next.first, next.cause);
    }
  }
  queue.active = false;
}

}  // namespace stretto
