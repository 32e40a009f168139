#include "stretto/fabric/context.h"

#include <boost/container/small_vector.hpp>
#include <sched.h>

#include <algorithm>
#include <limits>

#include "stretto/base/error.h"
#include "stretto/base/linked.h"
#include "stretto/fabric/overflow.h"

namespace stretto::fabric {

// The contexts that this thread still has to serve: the flattened form of "serve the peer I just posted to".
class ServeList {
 public:
  void add(Context& context) {
    waiting_.push_back(&context);
    Context::this_thread_.others_wait = true;
  }

  /// Serves `first`, and then everything that was posted to meanwhile.
  void run(Context& first) noexcept {
    Context::this_thread_.serves = true;
    if (first.try_lock()) drain_and_unlock(first, Context::Rest::handed_over);
    serve_waiting(Context::Rest::handed_over);
  }

  /// The same where this thread has just taken the baton: `item` needs no way through the inbox, unless others came
  /// first.
  void run_locked(Context& context, Item* item) noexcept {
    Context::this_thread_.serves = true;
    if (context.has_work()) {
      context.push(item);
    } else {
      item->run(item);
    }
    end_turn(context, Context::Rest::handed_over);
  }

  /// Runs the context's poll, then what came of it. REQUIRES: this thread has just taken the context's baton.
  bool poll(Context& context, Context::Rest rest) noexcept {
    Context::this_thread_.serves = true;
    bool happened = context.has_work() || !kept_.empty();
    if (!kept_.empty()) take_up_kept(context);
    happened |= context.poll_ != nullptr && context.poll_(context.poll_argument_);
    end_turn(context, rest);
    return happened;
  }

  /// Polls until there is something to drain or to do elsewhere, or it is enough; returns how often. REQUIRES: as poll.
  unsigned poll_until(Context& context, unsigned turns, bool (*enough)(void*), void* argument) noexcept {
    Context::this_thread_.serves = true;
    unsigned turn = 0;
    if (!kept_.empty()) take_up_kept(context);
    while (turn < turns) {
      ++turn;
      const bool happened = context.poll_ != nullptr && context.poll_(context.poll_argument_);
      if (context.has_work() || !waiting_.empty()) break;
      // To ask costs as much as to poll; what other threads do may be seen a little later.
      if ((happened || turn % turns_between_questions == 0) && enough(argument)) break;
    }
    end_turn(context, Context::Rest::kept);
    return turn;
  }

  /// REQUIRES: this thread has the context's baton.
  void end_turn(Context& context, Context::Rest rest) noexcept {
    Context::this_thread_.serves = true;
    drain_and_unlock(context, rest);
    serve_waiting(rest);
  }

  void hand_over_kept() noexcept {
    for (Context* const context : kept_) context->overflow_->hand_over(*context);
    forget_kept();
  }

 private:
  // Some need no memory: to serve one's own context again never does.
  using Contexts = boost::container::small_vector<Context*, 16>;

  // What was kept is served again, `context` by who calls.
  void take_up_kept(const Context& context) {
    for (Context* const kept : kept_) {
      if (kept != &context) add(*kept);
    }
    forget_kept();
  }
  void keep(Context& context) {
    kept_.push_back(&context);
    Context::this_thread_.keeps = true;
  }
  void forget_kept() noexcept {
    kept_.clear();
    Context::this_thread_.keeps = false;
  }

  // REQUIRES: this thread holds the baton. Afterwards nobody is left with work and no server: who finds the baton taken
  // leaves it to its holder, who therefore looks again after letting go.
  void drain_and_unlock(Context& context, Context::Rest rest) noexcept {
    for (;;) {
      const bool finished = context.drain(context.overflow_ == nullptr ? std::numeric_limits<std::uint32_t>::max()
                                                                       : Context::budget_of_passing_thread);
      context.unlock();
      if (!finished) {
        // It may be on the list again, but this thread has done its part.
        std::replace(waiting_.begin(), waiting_.end(), &context, static_cast<Context*>(nullptr));
        if (rest == Context::Rest::kept) {
          keep(context);
        } else {
          context.overflow_->hand_over(context);
        }
        return;
      }
      if (!context.has_work() || !context.try_lock()) return;
    }
  }

  void serve_waiting(Context::Rest rest) noexcept {
    // Index, not iterator: serving adds to the list.
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i] != nullptr && waiting_[i]->try_lock()) drain_and_unlock(*waiting_[i], rest);
    }
    waiting_.clear();
    Context::this_thread_.others_wait = false;
    Context::this_thread_.serves = false;
  }

  static constexpr unsigned turns_between_questions = 4;

  Contexts waiting_;
  Contexts kept_;  // by those who serve again
};

namespace {
thread_local ServeList serve_list;
}

void Context::end_turn(Rest rest) noexcept { serve_list.end_turn(*this, rest); }

// REQUIRES: this thread has just taken the baton. Returns whether nothing is queued any more, and it still has that.
bool Context::drain_first(Rest rest) noexcept {
  this_thread_.serves = true;
  const auto no_limit = std::numeric_limits<std::uint32_t>::max();
  if (drain(overflow_ == nullptr ? no_limit : budget_of_passing_thread)) return true;
  end_turn(rest);
  return false;
}

void Context::hand_over_kept() noexcept { serve_list.hand_over_kept(); }

void Context::post(Item* item) noexcept {
  if (!serving() && !has_work() && try_lock()) {
    serve_list.run_locked(*this, item);
    return;
  }
  if (!push(item)) return;  // whoever posted the one before sees to both
  if (serving()) {
    serve_list.add(*this);
  } else {
    serve_list.run(*this);
  }
}

// Returns whether the inbox was empty before.
bool Context::push(Item* item) noexcept {
  Item* head = inbox_.load(std::memory_order_relaxed);
  do {
    item->next = head;
  } while (!inbox_.compare_exchange_weak(head, item, std::memory_order_seq_cst, std::memory_order_relaxed));
  return head == nullptr;
}

[[gnu::hot]] bool Context::serve(Rest rest) noexcept {
  if (serving() || !try_lock()) return false;
  return serve_list.poll(*this, rest);
}

[[gnu::hot]] unsigned Context::serve_until(unsigned turns, bool (*enough)(void*), void* argument) noexcept {
  if (serving() || !try_lock()) return 0;
  return serve_list.poll_until(*this, turns, enough, argument);
}

void Context::lock() {
  if (serving()) {
    throw Error(ErrorCode::invalid_state, "under a node's baton another one, or the same, must not be waited for");
  }
  while (!try_lock()) sched_yield();
}

[[gnu::hot]] bool Context::run_put_off() noexcept {
  if (put_off_.load(std::memory_order_relaxed) == nullptr) return false;
  bool any = false;
  auto run_all = [&] {
    Item* item = put_off_.exchange(nullptr, std::memory_order_relaxed);
    any = item != nullptr;
    while (item != nullptr) {
      Item* const next = item->next;
      item->run(item);
      item = next;
    }
  };
  try_run(run_all);
  return any;
}

[[gnu::hot]] bool Context::drain(std::uint32_t budget) noexcept {
  spent_ = 0;
  for (;;) {
    Item* item = leftover_.load(std::memory_order_relaxed);
    if (item == nullptr) {
      // Who posts after this load finds the baton taken, and its holder looks again after letting go.
      if (inbox_.load(std::memory_order_seq_cst) == nullptr) return true;
      item = oldest_first(inbox_.exchange(nullptr, std::memory_order_seq_cst)).first;
    }
    if (spent_ >= budget) {
      leftover_.store(item, std::memory_order_relaxed);
      return false;
    }
    leftover_.store(item->next, std::memory_order_relaxed);
    ++spent_;
    item->run(item);
  }
}

}  // namespace stretto::fabric
