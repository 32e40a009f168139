#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/base/random.h"

namespace stretto::fabric {

/// Virtual time in picoseconds since the start of the job.
using VirtualTime = std::int64_t;

inline constexpr double picoseconds_per_second = 1e12;

/// A simulated job is over then, 104 days after its start. What is added to it at once does not overflow.
inline constexpr double last_second = 9e6;
inline constexpr auto end_of_time = static_cast<VirtualTime>(last_second * picoseconds_per_second);

/// A duration in seconds (not negative, at most some weeks) in virtual time, rounded to the nearest picosecond.
VirtualTime to_virtual(double seconds);
inline double to_seconds(VirtualTime time) { return static_cast<double>(time) / picoseconds_per_second; }

/// Something that happens at a moment of virtual time.
class Action {
 public:
  virtual ~Action() = default;
  virtual void run() = 0;
};

/// The queue of all that is going to happen on a simulated machine, in the order (time, seeded key, sequence).
///
/// One thread uses it. Every action that runs is folded into a hash, so that two runs can be compared bit for bit.
class Timeline {
 public:
  explicit Timeline(std::uint64_t seed) : random_(seed) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  VirtualTime now() const noexcept { return now_; }

  /// Runs `action` at `time`. `label` says what it is, for the trace (for example kind and nodes); it must not hold
  /// an address. REQUIRES: time >= now().
  void at(VirtualTime time, std::unique_ptr<Action> action, std::uint64_t label);

  /// Runs the next action. Returns false when there is none.
  bool step();

  /// The time of the next action. REQUIRES: !empty().
  VirtualTime next_time() const { return heap_.front().time; }
  bool empty() const noexcept { return heap_.empty(); }

  /// Actions run so far, and the hash of (time, label) of all of them.
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t trace_hash() const noexcept { return hash_; }
  /// Folds something else that must be the same in every run into the hash.
  void trace(std::uint64_t value) noexcept;

 private:
  struct Entry {
    VirtualTime time;
    std::uint64_t key;
    std::uint64_t sequence;
    std::uint64_t label;
    std::unique_ptr<Action> action;
  };
  static bool later(const Entry& a, const Entry& b) noexcept;

  Random random_;
  VirtualTime now_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  std::vector<Entry> heap_;
};

}  // namespace stretto::fabric
