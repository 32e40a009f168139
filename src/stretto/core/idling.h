#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stretto {

/// What a worker that has found nothing to do does next: looks again, yields its core, or sleeps. Pure: what it saw and
/// the time go in, what to do comes out.
///
/// First it only looks, which pays where it has a core to itself. Then it yields now and then. Where processes take
/// turns on a core, who yields gets it back when all others there have had theirs. Unless it then gives them something
/// to do, what it misses most likely comes from another core, soon: it looks for longer before it sends them all round
/// again; once, until something comes.
class Idling {
 public:
  struct Limits {
    /// Looks before the first yield.
    unsigned spins = 0;
    unsigned yields = 100;
    /// No more yields after so many seconds of them.
    double yield_seconds = std::numeric_limits<double>::infinity();
    /// Whether other processes want the core.
    bool takes_turns = false;
  };
  enum class Next : std::uint8_t { look, yield, sleep };

  /// `requests`: how often this worker's process has given others something to do. `requests_at_turn`: how often it had
  /// when the worker last got the core back from a yield.
  Idling(const Limits& limits, std::uint64_t requests, std::uint64_t requests_at_turn) noexcept
      : limits_(limits),
        requests_(requests),
        looks_(limits.takes_turns && requests == requests_at_turn ? looks_for_more : first_looks()),
        left_(looks_) {}

  /// Another worker does the looking, which makes tasks ready: this one yields soon.
  void leave_it_to_others() noexcept {
    looks_ = few_looks();
    left_ = std::min(left_, looks_);
  }

  /// After a look at which there was nothing to do, though `something_came`, perhaps. `now()`: seconds.
  template <class Now>
  Next after_look(bool something_came, std::uint64_t requests, const Now& now) {
    if (something_came) {
      yields_ = 0;
      if (!limits_.takes_turns) looks_ = first_looks();
      left_ = looks_;
    }
    if (limits_.takes_turns && requests != requests_) left_ = looks_ = few_looks();
    requests_ = requests;
    if (--left_ > 0) return Next::look;
    if (yields_ == limits_.yields) return Next::sleep;
    const double time = now();
    if (yields_ == 0) yields_began_ = time;
    if (time - yields_began_ > limits_.yield_seconds) return Next::sleep;
    ++yields_;
    looks_ = limits_.takes_turns && yields_ == 1 ? looks_in_turn : few_looks();
    left_ = looks_;
    return Next::yield;
  }

 private:
  unsigned first_looks() const noexcept { return limits_.spins > 0 ? limits_.spins : few_looks(); }
  // A yield that comes back at once costs 0.5 us: what another core is about to send is worth some looks, which cost a
  // fraction of that. Who waits for those with whom he shares the core only keeps it from them.
  unsigned few_looks() const noexcept { return limits_.takes_turns ? 1 : 4; }
  // 6 us, two or three turns of others.
  static constexpr unsigned looks_in_turn = 128;
  // 1 us, where what came let a task go on, which gave nobody anything and waits again: who sent it, from another core,
  // may be about to send more. Or those whom it waits for have not had their turns yet.
  static constexpr unsigned looks_for_more = 24;

  Limits limits_;
  std::uint64_t requests_;
  unsigned looks_;  // before the next yield, from when something came
  unsigned left_;
  unsigned yields_ = 0;  // since something came
  double yields_began_ = 0;
};

}  // namespace stretto
