#pragma once

#include <algorithm>
#include <vector>

#include "stretto/schedule/hosts.h"

namespace stretto::schedule {

/// When a rank is free, for its next step, its next send and its next receive. Seconds.
struct Clock {
  double now = 0;
  double next_send = 0;
  double next_receive = 0;
};

/// When what connects hosts is free: the ranks of a host share it.
class HostWires {
 public:
  explicit HostWires(const Hosts& hosts) : hosts_(hosts), wires_(hosts.are_known() ? hosts.count() : 0) {}

  /// Whether a message goes from host to host, and so over these. Of hosts that are not known, nothing does.
  bool lie_between(Rank a, Rank b) const { return hosts_.are_known() && hosts_.of(a) != hosts_.of(b); }
  bool are_inside(Rank a, Rank b) const { return hosts_.are_known() && hosts_.of(a) == hosts_.of(b); }
  /// Of a rank's host; `now` counts for nothing. REQUIRES: the hosts are known.
  Clock& of(Rank rank) { return wires_[hosts_.of(rank)]; }
  void all_free_at(double time) { std::fill(wires_.begin(), wires_.end(), Clock{time, time, time}); }

 private:
  const Hosts& hosts_;
  std::vector<Clock> wires_;
};

}  // namespace stretto::schedule
