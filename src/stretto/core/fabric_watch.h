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

/// Sees to it that somebody looks after the fabric of a process (decisions 3 and 29).
///
/// Workers that wait or have nothing to do poll it. Who sleeps last has the *watch*: the fabric's descriptors wake it.
/// While all workers compute, a service thread looks now and then whether anybody has polled since, and otherwise takes
/// the watch itself. A worker that polls takes the watch from it without a word, so that peers need not ring.
class FabricWatch {
 public:
  /// `now`: seconds. `wake_service`: wakes the service thread. Both by any thread.
  FabricWatch(std::function<double()> now, std::function<void()> wake_service);

  /// Looks after those of `endpoints` that have a descriptor; they outlive its use. `has_cores`: whether the process
  /// has cores to itself. Where so many workers share a core, ticks are that much rarer, so that those of all processes
  /// together displace no more. Before all else.
  void start(std::span<fabric::Endpoint* const> endpoints, bool has_cores, unsigned workers_per_core);
  /// Whether there is anything to look after.
  bool needed() const noexcept { return !endpoints_.empty(); }

  // Of workers.

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
  /// A worker polls, here or by other means: nobody needs to ring meanwhile.
  void note_poll();
  /// How often nodes of this process gave peers elsewhere something to do.
  std::uint64_t requests() const noexcept;
  /// Takes the watch for `watcher` (not negative), who is about to sleep; returns whether it has it now.
  bool arm(int watcher);

  // Of the service thread.

  /// The watcher that it is.
  static constexpr int service = std::numeric_limits<int>::max();
  /// The same as `poll`, but others get what is too much.
  bool poll_for_service();
  /// Takes the watch, unless a worker has polled since it was last asked for. If there is something large under way and
  /// nobody else serves, stays with it first, for a while: meanwhile it calls `do_others`, which returns whether it had
  /// anything to do, until `stopping`.
  bool arm_service(const std::function<bool()>& do_others, const std::atomic<bool>& stopping);
  /// How long it may sleep now, with the watch or without; none: until it is woken.
  std::optional<timespec> tick_of_service(bool armed);
  /// It has slept, and was woken by something or by its tick.
  void service_woke_up(bool by_something) noexcept;

  // Of both.

  /// Ends the watch of `watcher`, if it still has it.
  void disarm(int watcher);
  /// What wakes who has the watch.
  void add_descriptors(std::vector<pollfd>& list) const;

 private:
  static constexpr int nobody = -1;
  static constexpr int changes = -2;

  // Less than a microsecond, as long as nothing comes.
  static constexpr unsigned turns_of_a_moment = 32;

  bool serve(fabric::Context::Rest rest);
  bool engaged() const noexcept;
  bool somebody_serves() const noexcept;
  void stay_engaged(const std::function<bool()>& do_others, const std::atomic<bool>& stopping);
  double must_rest() const;
  long tick_nanoseconds(bool armed) const noexcept;

  std::function<double()> now_;
  std::function<void()> wake_service_;
  std::vector<fabric::Endpoint*> endpoints_;
  bool has_cores_ = false;
  long rare_tick_nanoseconds_ = 0;

  std::atomic<int> watcher_{nobody};
  std::atomic<std::uint64_t> polls_{0};  // of workers
  std::atomic<bool> service_in_deep_sleep_{true};

  // The service thread's own.
  std::uint64_t polls_seen_ = 0;
  int quiet_ticks_ = 0;                               // somebody had the watch, and nothing happened
  int calm_ticks_ = std::numeric_limits<int>::max();  // since one found something large that nobody attended to
  int attended_ticks_ = 0;                            // in a row, in which a worker polled
  bool found_unattended_ = false;
  bool looks_again_ = false;
  double woke_up_ = 0;
};

}  // namespace stretto
