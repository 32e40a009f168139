#pragma once

#include <array>
#include <cstdint>

#include "stretto/fabric/cluster/host/control.h"

namespace stretto::fabric::cluster {

/// Rings the doorbells of peers that sleep, once something was stored that they are to see: each at once, or all of a
/// burst at its end. Before the look whether a peer sleeps all stores have to have left the processor, which takes as
/// long as their lines are on their way: after a burst that is waited for once.
class Bells {
 public:
  /// What `peer` is to see was stored.
  void ring(PeerMemory& peer) noexcept {
    if (!in_burst_ || count_ == noted_.size()) return peer.ring_if_armed();
    noted_[count_++] = &peer;
  }

  void begin_burst() noexcept { in_burst_ = true; }
  void end_burst() noexcept {
    in_burst_ = false;
    if (count_ == 0) return;
    PeerMemory::show_stores();
    for (std::uint32_t i = 0; i < count_; ++i) noted_[i]->ring_if_seen_armed();
    count_ = 0;
  }

 private:
  bool in_burst_ = false;
  std::uint32_t count_ = 0;
  std::array<PeerMemory*, 64> noted_{};  // whoever finds no place here is rung at once
};

}  // namespace stretto::fabric::cluster
