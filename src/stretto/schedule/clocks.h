#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/hosts.h"

namespace stretto::schedule {

/// When a rank's processor is through with what it has done, and when the wire by which it sends and receives is free.
/// Seconds.
struct Clock {
  double now = 0;
  double next_send = 0;
  double next_receive = 0;

  double sent = 0;  ///< when it was through with its last send, which may be earlier than `now` (see Walk)
  double busy = 0;  ///< for how long it has worked, all in all

  void work(double seconds) {
    now += seconds;
    busy += seconds;
  }
};

/// A wire, free from `free` on, takes a message that is there from `earliest` on. Returns when that begins.
inline double take_wire(double& free, double earliest, double occupied) {
  const double begin = std::max(free, earliest);
  free = begin + occupied;
  return begin;
}

/// When ranks were through with the last rounds.
class History {
 public:
  /// Looks so many rounds back.
  explicit History(std::uint32_t rounds) : ends_(rounds) {}

  void end_round(std::span<const Clock> clocks) {
    std::vector<double>& ends = ends_[rounds_++ % ends_.size()];
    ends.clear();
    for (const Clock& clock : clocks) ends.push_back(clock.now);
  }
  /// Of the round that lies so many back, the last one being 1; the beginning of all where there was none. One clock
  /// stands for all ranks. REQUIRES: it looks so far back, or there was none.
  double end_of(std::uint32_t rounds_back, Rank rank) const {
    if (rounds_back > rounds_) return 0;
    const std::vector<double>& ends = ends_[(rounds_ - rounds_back) % ends_.size()];
    return ends.size() == 1 ? ends.front() : ends[rank];
  }

 private:
  std::vector<std::vector<double>> ends_;
  std::uint32_t rounds_ = 0;
};

/// When what connects hosts is free: the ranks of a host share it.
class HostWires {
 public:
  explicit HostWires(const Hosts& hosts) : hosts_(hosts), wires_(hosts.are_known() ? hosts.count() : 0) {}

  bool are_known() const { return hosts_.are_known(); }
  bool are_inside(Rank a, Rank b) const { return hosts_.are_known() && hosts_.of(a) == hosts_.of(b); }
  /// Of a rank's host; `now` counts for nothing. REQUIRES: the hosts are known.
  Clock& of(Rank rank) {
    Wire& wire = wires_[hosts_.of(rank)];
    if (wire.freed != freed_) wire = {{free_at_, free_at_, free_at_}, freed_};
    return wire.clock;
  }
  /// Takes no time, however many there are: few may be asked for.
  void all_free_at(double time) {
    free_at_ = time;
    ++freed_;
  }

 private:
  struct Wire {
    Clock clock;
    std::uint64_t freed = 0;  ///< how often all had been freed when this one was asked for last
  };

  const Hosts& hosts_;
  std::vector<Wire> wires_;
  double free_at_ = 0;
  std::uint64_t freed_ = 0;
};

}  // namespace stretto::schedule
