#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "stretto/core/phase_barrier.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

class Node;

/// A node's phase barriers: creates them, counts arrivals at its own, sends arrivals at others'.
///
/// Owned by the node. Any thread may call create and arrive.
class BarrierService final : private fabric::MessageHandler {
 public:
  explicit BarrierService(Node& node);
  ~BarrierService() override;

  /// A barrier whose every phase takes `arrivals` arrivals. When one of `participants` dies (the nodes that are to
  /// arrive), the current and all later phases are poisoned with `peer_lost`. Throws Error(invalid_argument) for 0
  /// arrivals and for nodes that do not exist.
  PhaseBarrier create(std::uint32_t arrivals, std::span<const NodeId> participants);

  /// Arrives `count` times at this phase, when `precondition` has triggered. If that is poisoned the barrier is: an
  /// arrival that never comes must not leave others waiting. More arrivals than a phase takes poison the barrier too.
  /// Throws Error(invalid_argument) for what is no phase of a barrier; where only another node knows that, who waits
  /// for it here gets that Error.
  void arrive(PhaseBarrier barrier, std::uint32_t count = 1, Event precondition = no_event);

  /// Under the baton.
  void on_peer_lost(NodeId peer, const Cause& cause);

  /// Lets tests begin near the end of a barrier's life: the first phase of those that are created from now on.
  void set_first_phase(std::uint32_t phase) noexcept { first_phase_ = phase; }

 private:
  struct Arrival;

  struct State {
    std::uint32_t arrivals;
    std::set<NodeId> participants;
    std::uint32_t phase = 1;                         // the one that is being waited for
    std::map<std::uint32_t, std::uint32_t> arrived;  // by phase
    bool over = false;                               // poisoned, or used up

    void end();
  };

  void on_message(const fabric::Message& message) override;
  void count(Event event, std::uint32_t arrivals, const Cause& cause);
  void deliver(const Arrival& arrival);
  void fail(std::uint32_t slot, State& state, const Cause& cause);

  Node& node_;
  std::uint32_t first_phase_ = 1;
  std::map<std::uint32_t, State> states_;  // by slot, under the baton
};

}  // namespace stretto
