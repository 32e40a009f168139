#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace stretto {

/// Whether a worker that finds nothing to take naps: it then sleeps for a while, whatever others make ready for
/// themselves meanwhile. Pure: what it sees and the time go in.
///
/// Who does small tasks one after the other comes to each before it would be worth taking. To look for them only slows
/// him down, since the lines of his queue then go to and fro, and to wake a sleeper for each does so even more. Naps
/// get longer while that goes on, but hardly longer than it has: what is worth taking after it waits no longer.
class Nap {
 public:
  /// It begins to look for work; so far others have taken so many processors from queues of their own.
  void begin_looks(std::uint32_t taken, double now) noexcept {
    taken_ = taken;
    since_ = now;
  }

  /// It has found none, or wakes up from a nap. What others take they were to have for so long at most
  /// (`worth_taking_seconds`). Returns whether it naps (again).
  bool after_looks(std::uint32_t taken, double now, double worth_taking_seconds) noexcept {
    const std::uint32_t taken_since = taken - taken_;
    const bool others_hurry = taken_since > 0 && now - since_ <= taken_since * worth_taking_seconds;
    begin_looks(taken, now);
    seconds_ = !others_hurry ? 0 : seconds_ == 0 ? shortest_seconds : std::min(2 * seconds_, longest_seconds);
    return others_hurry;
  }

  /// It has found some, which may have been a moment's delay: soon after, it naps nearly as long as before.
  void found_work() noexcept { seconds_ = seconds_ < 4 * shortest_seconds ? 0 : seconds_ / 4; }

  /// How long it naps; none: it sleeps until it is woken.
  std::optional<double> seconds() const noexcept { return seconds_ == 0 ? std::nullopt : std::optional(seconds_); }

 private:
  static constexpr double shortest_seconds = 50e-6;
  static constexpr double longest_seconds = 400e-6;

  double seconds_ = 0;
  std::uint32_t taken_ = 0;
  double since_ = 0;
};

}  // namespace stretto
