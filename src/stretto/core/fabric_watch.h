#pragma once

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "stretto/fabric/endpoint.h"

namespace stretto {

/// Sees to it that somebody looks after the fabric of a process (decisions 3, 29 and 52).
///
/// Workers that wait poll it. Who has nothing to do leaves it to them, or to one of its like (`Searcher`), and
/// otherwise polls, too. A worker that sleeps may have the *watch*: the fabric's descriptors wake it. While nobody
/// polls and none has it, a service thread looks now and then, and takes the watch itself. Whoever polls takes the
/// watch from whoever has it without a word, so that peers need not ring.
class FabricWatch {
 public:
  /// `now`: seconds. `wake_service`: wakes the service thread. Both by any thread.
  FabricWatch(std::function<double()> now, std::function<void()> wake_service);

  /// Looks after those of `endpoints` that have a descriptor; they outlive its use. `has_cores`: whether the process
  /// has cores to itself, which no network between hosts wants, either. Where so many workers share a core, ticks are
  /// that much rarer, so that those of all processes together displace no more. Before all else.
  void start(std::span<fabric::Endpoint* const> endpoints, bool has_cores, unsigned workers_per_core);
  /// Whether there is anything to look after.
  bool needed() const noexcept { return !endpoints_.empty(); }

  // Of workers that wait for something in the middle of a task.

  /// Makes progress; returns whether anything happened. May keep a rest (see Context::Rest).
  bool poll();
  /// The same again and again, for a moment, until `enough()` (which does not throw): sees what arrives sooner than one
  /// `poll` after the other. Returns how often; at least once.
  template <class Enough>
  unsigned poll_until(Enough&& enough) {
    if (endpoints_.size() != 1) {
      poll();
      return 1;
    }
    note_poll();
    return std::max(endpoints_.front()->context().serve_until(turns_of_a_moment, enough), 1U);
  }
  /// A worker that has polled turns to something else while something large is under way: unless another one polls, the
  /// service thread need not look twice.
  void note_departure() noexcept { departed_.store(polls(), std::memory_order_relaxed); }
  /// A thread is about to look itself for what it waits for, and for nothing else. Returns whether anybody has the
  /// watch.
  bool note_look() {
    count(looks_);
    return watcher_.load(std::memory_order_relaxed) >= 0;
  }
  /// Takes the watch from whoever has it: peers need not ring while a worker looks. Threads that may sleep without
  /// taking it again leave it.
  void end_watch();

  // Of workers that have nothing to do.

  /// A worker that looks for work, from the beginning to the end of its search.
  class Searcher {
   public:
    /// `worker`: not negative. `has_worked`: since it searched before. What comes is then most likely for what it did,
    /// so it takes the fabric from others that search.
    Searcher(FabricWatch& watch, int worker, bool has_worked) noexcept;
    ~Searcher();
    Searcher(const Searcher&) = delete;
    Searcher& operator=(const Searcher&) = delete;

    /// As FabricWatch::poll, unless others are at it.
    bool poll();
    /// Whether these were workers that wait: they come back to it.
    bool gives_way_to_who_waits() const noexcept { return looks_to_give_way_ > 0; }

   private:
    bool is_the_one() noexcept;

    FabricWatch& watch_;
    int worker_;
    std::uint64_t waits_seen_;
    unsigned looks_to_give_way_ = 0;
  };
  /// How often nodes of this process gave peers elsewhere something to do.
  std::uint64_t requests() const noexcept;
  /// Takes the watch for `watcher` (not negative), who is about to sleep; returns whether it has it now. Not where
  /// another thread serves and something comes meanwhile: the service thread looks after that one.
  bool arm(int watcher);

  // Of the service thread.

  /// The watcher that it is.
  static constexpr int service = std::numeric_limits<int>::max();
  /// The same as `poll`, but others get what is too much.
  bool poll_for_service();
  /// Takes the watch, unless a worker has polled or looked since it was last asked for; where none has polled, polls
  /// once itself, for what nobody looks for. If there is something large under way and nobody else serves, stays with
  /// it first, for a while: meanwhile it calls `do_others`, which returns whether it had anything to do, until
  /// `stopping`. Leaves large data on their way over a network alone (Endpoint::let_flow).
  bool arm_service(const std::function<bool()>& do_others, const std::atomic<bool>& stopping);
  /// How long it may sleep now, with the watch or without; none: until it is woken. `workers_sleep`: some, so that a
  /// tick displaces nobody.
  std::optional<timespec> tick_of_service(bool armed, bool workers_sleep);
  /// It has slept, and was woken by something or by its tick.
  void service_woke_up(bool by_something) noexcept;

  // Of both.

  /// Ends the watch of `watcher`; returns whether it still had it.
  bool disarm(int watcher);
  /// What wakes who has the watch.
  void add_descriptors(std::vector<pollfd>& list) const;

 private:
  static constexpr int nobody = -1;
  static constexpr int changes = -2;

  // Less than a microsecond, as long as nothing comes.
  static constexpr unsigned turns_of_a_moment = 32;

  bool serve(fabric::Context::Rest rest);
  // A lost count does no harm: what counts is that it changes.
  static void count(std::atomic<std::uint64_t>& looks) {
    looks.store(looks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void note_poll();
  std::uint64_t polls() const noexcept;
  std::uint64_t waits() const noexcept;
  bool take(int watcher);
  bool arm_endpoints(int watcher, fabric::Alarm alarm);
  void let_flow(bool flowed);
  void give_back();
  bool engaged() const noexcept;
  bool somebody_serves() const noexcept;
  void stay_engaged(const std::function<bool()>& do_others, const std::atomic<bool>& stopping);
  double must_rest() const;
  long tick_nanoseconds(bool armed, bool workers_sleep) const noexcept;

  std::function<double()> now_;
  std::function<void()> wake_service_;
  std::vector<fabric::Endpoint*> endpoints_;
  bool has_cores_ = false;
  bool shares_cores_ = false;
  long rare_tick_nanoseconds_ = 0;

  // Written by who waits, at each poll or look, and by who takes the watch from somebody.
  alignas(64) std::atomic<std::uint64_t> polls_{0};
  std::atomic<std::uint64_t> looks_{0};
  std::atomic<std::uint64_t> departed_{0};  // polls, all of them, by the last departure
  std::atomic<int> watcher_{nobody};
  // Of those who search.
  alignas(64) std::atomic<std::uint64_t> polls_of_searchers_{0};
  std::atomic<int> searcher_{nobody};  // the one that polls
  std::atomic<bool> service_in_deep_sleep_{true};

  // The service thread's own.
  std::uint64_t polls_seen_ = 0;  // of all
  std::uint64_t looks_seen_ = 0;
  int quiet_ticks_ = 0;                               // somebody had the watch, and nothing happened
  int calm_ticks_ = std::numeric_limits<int>::max();  // since one found something large that nobody attended to
  int attended_ticks_ = 0;                            // in a row, in which a worker polled
  bool found_unattended_ = false;
  bool looks_again_ = false;
  bool flows_ = false;  // large data, when it last wanted to sleep
  bool woken_by_something_ = false;
  long flow_nanoseconds_ = 1'000'000;
  double woke_up_ = 0;
};

}  // namespace stretto
