#include "stretto/fabric/context.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <sched.h>

namespace stretto::fabric {

// The contexts that this thread still has to serve: the flattened form of "serve the peer I just posted to".
class ServeList {
 public:
  bool active() const noexcept { return active_; }

  void add(Context& context) { waiting_.push_back(&context); }

  // Serves `first` and everything that posts of its items added.
  void run(Context& first) noexcept {
    active_ = true;
    serve_one(first);
    // Index, not iterator: serving adds to the list.
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i] != nullptr) serve_one(*waiting_[i]);
    }
    waiting_.clear();
    active_ = false;
  }

  void enter(Context& context, void (*function)(void*), void* argument) {
    while (!context.try_lock()) sched_yield();
    active_ = true;
    try {
      function(argument);
    } catch (...) {
      context.unlock();
      run(context);
      throw;
    }
    context.unlock();
    run(context);
  }

 private:
  void serve_one(Context& context) noexcept {
    // After the last look nobody may be left with work and no server: see the loop's condition.
    do {
      if (!context.try_lock()) return;  // its holder looks again after letting go
      const bool finished = context.drain(context.overflow_ == nullptr ? std::numeric_limits<std::uint32_t>::max()
                                                                       : Context::budget_of_passing_thread);
      context.unlock();
      if (!finished) {
        // It may be on the list again, but this thread has done its part.
        std::replace(waiting_.begin(), waiting_.end(), &context, static_cast<Context*>(nullptr));
        context.overflow_->hand_over(context);
        return;
      }
    } while (context.has_work());
  }

  std::vector<Context*> waiting_;
  bool active_ = false;
};

namespace {
thread_local ServeList serve_list;
}

bool Context::serving() noexcept { return serve_list.active(); }

void Context::post(Item* item) noexcept {
  Item* head = inbox_.load(std::memory_order_relaxed);
  do {
    item->next = head;
  } while (!inbox_.compare_exchange_weak(head, item, std::memory_order_seq_cst, std::memory_order_relaxed));
  if (head != nullptr) return;  // whoever posted that one sees to both
  if (serve_list.active()) {
    serve_list.add(*this);
  } else {
    serve_list.run(*this);
  }
}

bool Context::serve() noexcept {
  if (serve_list.active() || !try_lock()) return false;
  const bool had_work = has_work();
  const bool polled = poll_ != nullptr && poll_(poll_argument_);
  unlock();
  serve_list.run(*this);
  return had_work || polled;
}

void Context::enter(void (*function)(void*), void* argument) { serve_list.enter(*this, function, argument); }

void Context::take_inbox() noexcept {
  Item* newest = inbox_.exchange(nullptr, std::memory_order_seq_cst);
  if (newest == nullptr) return;
  Item* const last = newest;
  Item* first = nullptr;
  while (newest != nullptr) {
    Item* const older = newest->next;
    newest->next = first;
    first = newest;
    newest = older;
  }
  if (leftover_.load(std::memory_order_relaxed) == nullptr) {
    leftover_.store(first, std::memory_order_relaxed);
  } else {
    leftover_last_->next = first;
  }
  leftover_last_ = last;
}

bool Context::drain(std::uint32_t budget) noexcept {
  spent_ = 0;
  for (;;) {
    if (leftover_.load(std::memory_order_relaxed) == nullptr) take_inbox();
    Item* const item = leftover_.load(std::memory_order_relaxed);
    if (item == nullptr) return true;
    if (spent_ >= budget) return false;
    leftover_.store(item->next, std::memory_order_relaxed);
    ++spent_;
    item->run(item);
  }
}

}  // namespace stretto::fabric
