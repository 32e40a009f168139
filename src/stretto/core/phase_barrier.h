#pragma once

#include <cstdint>

#include "stretto/core/event.h"

namespace stretto {

/// A barrier over nodes whose phases are events (Legion's phase barrier): each phase ends when a fixed number of
/// arrivals have come in, from anywhere. Arriving and waiting are separate; both may be deferred.
///
/// A handle, copied and sent freely; this value names one *phase*. Created by BarrierService::create; its state is at
/// the creating node.
class PhaseBarrier {
 public:
  constexpr PhaseBarrier() = default;
  constexpr explicit PhaseBarrier(Event event) : event_(event) {}

  /// Triggers when this phase is over. May be waited for, and be a precondition, before the phase begins.
  constexpr Event event() const { return event_; }

  /// The next phase. Throws Error(out_of_resources) after 2^24 - 1 phases, Error(invalid_state) for what is no barrier.
  PhaseBarrier next() const;

  friend constexpr bool operator==(const PhaseBarrier&, const PhaseBarrier&) = default;

 private:
  Event event_;
};

}  // namespace stretto
