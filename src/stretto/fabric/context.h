#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "stretto/fabric/hinted_count.h"
#include "stretto/fabric/item.h"

namespace stretto::fabric {

class Overflow;

/// A node's *baton* (a try-lock) and its inbox for many producers.
///
/// All fabric, subscription and executor state of a node is touched only by the holder of its baton, so those
/// state machines need no atomics. Any thread posts; whoever finds the baton free drains. No user code runs
/// under a baton. A thread that is already serving some context serves others after it, never inside it, so
/// that a chain of nodes in one process needs no stack.
class Context {
 public:
  /// `overflow` outlives the context; null (deterministic simulation) means that posts are always served at once.
  explicit Context(Overflow* overflow) noexcept : overflow_(overflow) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// What becomes of work that outgrows a passing thread's budget, here and in the contexts that it serves after this
  /// one: another thread gets it (Overflow), or the one that serves comes again for it, so that no other one need be
  /// woken.
  enum class Rest : std::uint8_t { handed_over, kept };

  /// Queues `item` and serves the context, now or, if this thread is serving already, right after. Any thread.
  void post(Item* item) noexcept;

  /// A stay under a context's baton, if this thread has just taken that; it ends with its scope. In line, since small
  /// calls are little more.
  class Turn {
   public:
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[gnu::always_inline]] ~Turn() {
      if (!has_begun_) return;
      if (!context_.has_work() && !this_thread_.others_wait) {
        context_.unlock();
        this_thread_.serves = false;
        // Who found the baton taken has left its work to its holder.
        if (!context_.has_work() || !context_.try_lock()) return;
      }
      context_.end_turn(rest_);
    }

    bool has_begun() const noexcept { return has_begun_; }

   private:
    friend class Context;
    Turn(Context& context, Rest rest, bool has_baton) noexcept : context_(context), rest_(rest), has_begun_(has_baton) {
      if (has_begun_) this_thread_.serves = true;
    }

    Context& context_;
    Rest rest_;
    bool has_begun_;
  };

  /// A turn that runs what is queued before it returns, if nobody has the baton and this thread serves no context:
  /// whoever has posted may be busy elsewhere. It has not begun where what is queued outgrows its budget. `rest`: see
  /// `serve`. Any thread.
  Turn try_turn(Rest rest = Rest::handed_over) noexcept { return {*this, rest, try_lock_first(rest)}; }
  /// Runs `function()` in such a turn. Returns whether it ran the function; throws what that throws.
  template <class F>
  bool try_run(F&& function, Rest rest = Rest::handed_over) {
    const Turn turn = try_turn(rest);
    if (turn.has_begun()) std::forward<F>(function)();
    return turn.has_begun();
  }

  /// Drains what is there if the baton is free, and what this thread has kept elsewhere. Any thread. Returns whether
  /// any item ran. Who keeps the rest serves again, or calls `hand_over_rest`.
  bool serve(Rest rest = Rest::handed_over) noexcept;
  /// Serves again and again, without letting go of the baton in between, until `enough()` (which does not throw; it is
  /// asked after turns in which something came, and after each fourth one), there is something to do elsewhere or
  /// `turns` are over, and keeps the rest: for who polls, and is to see what arrives as soon as it can. Others enter
  /// after so many turns only. Returns how many there were; zero: the baton is not free.
  template <class Enough>
  unsigned serve_until(unsigned turns, Enough&& enough) noexcept {
    return serve_until(
        turns, [](void* f) -> bool { return (*static_cast<std::remove_reference_t<Enough>*>(f))(); }, &enough);
  }
  unsigned serve_until(unsigned turns, bool (*enough)(void*), void* argument) noexcept;
  /// Whether this thread has kept something.
  static bool keeps() noexcept { return this_thread_.keeps; }
  /// For a thread that may have kept something and does not serve again for now.
  static void hand_over_rest() noexcept {
    if (keeps()) hand_over_kept();
  }
  /// The same at the end of a scope, also of one that is left by an exception.
  struct HandOverAtEnd {
    HandOverAtEnd() = default;
    HandOverAtEnd(const HandOverAtEnd&) = delete;
    HandOverAtEnd& operator=(const HandOverAtEnd&) = delete;
    ~HandOverAtEnd() { hand_over_rest(); }
  };

  /// Runs `function()` under the baton before it returns; waits for the baton if need be. Throws Error(invalid_state)
  /// where this thread serves a context already, and what the function throws.
  template <class F>
  void enter(F&& function) {
    lock();
    const Turn turn(*this, Rest::handed_over, true);
    std::forward<F>(function)();
  }
  /// The same if the baton is free; returns whether it was.
  template <class F>
  bool try_enter(F&& function) {
    const Turn turn(*this, Rest::handed_over, try_lock());
    if (turn.has_begun()) std::forward<F>(function)();
    return turn.has_begun();
  }

  /// Adds a source of work that is polled under the baton each time that the context is served (a fabric's
  /// progress entry). Set once, before other threads know of the context.
  void set_poll(bool (*poll)(void*), void* argument) noexcept {
    poll_ = poll;
    poll_argument_ = argument;
  }

  /// Has `item` run when nothing else happens any more: when a thread of this process is about to sleep, or, in virtual
  /// time, when all nodes are at rest. For what need not be done where something else makes up for it. Under the baton.
  void put_off(Item* item) noexcept {
    item->next = put_off_.load(std::memory_order_relaxed);
    put_off_.store(item, std::memory_order_relaxed);
  }
  /// Runs what was put off, if the baton is free (its holder is not about to sleep) and nothing is queued. Returns
  /// whether there was anything. Any thread that serves no context.
  bool run_put_off() noexcept;

  /// Says how much of the budget the running item used beyond its own unit: one unit is about a small message.
  /// REQUIRES: called by an item under the baton.
  void spend(std::uint32_t units) noexcept { spent_ += units; }

  /// Something large is under way with peers from now on, or is not any more: whoever serves this context while all
  /// others compute does well to stay with it. Under the baton, in pairs.
  void engage() noexcept { engagements_.add(); }
  void disengage() noexcept { engagements_.remove(); }
  /// A hint. Any thread.
  bool engaged() const noexcept { return engagements_.any(); }

  /// Something leaves over a network as soon as a peer asks for it, or need not be asked for any more. Likewise.
  void expect_request() noexcept { expected_requests_.add(); }
  void note_request() noexcept { expected_requests_.remove(); }
  bool expects_request() const noexcept { return expected_requests_.any(); }

  /// Whether some thread has the baton. A hint. Any thread.
  bool held() const noexcept { return locked_.load(std::memory_order_relaxed); }

  /// Whether some thread has the baton, or something is queued. A hint. Any thread.
  bool busy() const noexcept { return held() || has_work(); }

  /// Whether this thread is serving some context, so that it must not wait for a baton.
  static bool serving() noexcept { return this_thread_.serves; }

 private:
  friend class ServeList;

  /// What a thread is at; more of it is in its ServeList.
  struct Thread {
    bool serves;       ///< some context
    bool others_wait;  ///< it has to serve further ones, after this one
    bool keeps;        ///< what it has kept of some
  };

  void end_turn(Rest rest) noexcept;
  static void hand_over_kept() noexcept;

  void lock();
  // As `try_run` needs it.
  bool try_lock_first(Rest rest) noexcept {
    if (serving() || !try_lock()) return false;
    return !has_work() || drain_first(rest);
  }
  bool drain_first(Rest rest) noexcept;
  bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_seq_cst); }
  void unlock() noexcept { locked_.store(false, std::memory_order_seq_cst); }
  [[gnu::always_inline]] bool has_work() const noexcept {
    return leftover_.load(std::memory_order_seq_cst) != nullptr || inbox_.load(std::memory_order_seq_cst) != nullptr;
  }
  bool push(Item* item) noexcept;
  bool drain(std::uint32_t budget) noexcept;

  static constexpr std::uint32_t budget_of_passing_thread = 512;

  static inline constinit thread_local Thread this_thread_{};  // NOLINT(readability-identifier-naming): a member

  alignas(64) std::atomic<Item*> inbox_{nullptr};  // newest first
  alignas(64) std::atomic<bool> locked_{false};
  // Written by the baton's holder; read by those who ask whether to look again.
  std::atomic<Item*> leftover_{nullptr};  // oldest first
  HintedCount engagements_;
  HintedCount expected_requests_;
  std::atomic<Item*> put_off_{nullptr};  // newest first
  std::uint32_t spent_ = 0;
  bool (*poll_)(void*) = nullptr;
  void* poll_argument_ = nullptr;
  Overflow* overflow_;
};

}  // namespace stretto::fabric
