#pragma once

#include <cstdint>
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
