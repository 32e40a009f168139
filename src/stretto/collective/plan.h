#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/collective/lowering.h"
#include "stretto/collective/step_states.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/schedule.h"

namespace stretto {

/// A schedule, ready to be run: its messages can be found by peer and tag. Immutable, shared by all runs.
class Plan {
 public:
  /// A member from shape.size on does nothing. REQUIRES: the algorithm supports the shape.
  Plan(const schedule::Algorithm& algorithm, const schedule::Shape& shape, schedule::Rank me);

  const schedule::Algorithm& algorithm() const noexcept { return algorithm_; }
  const schedule::Schedule& schedule() const noexcept { return schedule_; }
  const Lowering& lowering() const noexcept { return lowering_; }
  /// With whom messages are exchanged, in order.
  const std::vector<schedule::Rank>& peers() const noexcept { return peers_; }
  /// The place of one of them in that list.
  std::size_t index_of_peer(schedule::Rank peer) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(peers_.begin(), peers_.end(), peer) - peers_.begin());
  }
  /// The place there of the peer of a message step.
  std::size_t index_of_peer_of(std::uint32_t step) const noexcept { return peer_index_[step]; }
  /// Whether some member of any part of the group sends to the rest of it before it waits for the rest, so that those
  /// who disagree hear of each other by the schedule's own messages.
  bool meets_everybody() const noexcept { return meets_everybody_; }
  /// Whether large messages over wires are asked for in turn (see Requests), since several would else send to one
  /// at once. Nobody is kept waiting who could end before all have begun.
  bool asks_in_turn() const noexcept { return asks_in_turn_; }
  const std::vector<schedule::Step>& steps() const noexcept { return schedule_.steps; }
  /// How a run of it begins in which each step is started by itself.
  const StepStates::Beginning& beginning() const noexcept { return beginning_; }
  /// Of algorithm, operation, size, root and whether it is reproducible: the same on all ranks.
  std::uint64_t digest() const noexcept { return digest_; }

  static constexpr std::uint32_t none = StepStates::none;
  /// The step that receives message `tag` from `peer`, or `none`.
  std::uint32_t receive_step(schedule::Rank peer, std::uint32_t tag) const noexcept {
    return find(receives_, peer, tag);
  }
  /// The step that sends message `tag` to `peer`, or `none`.
  std::uint32_t send_step(schedule::Rank peer, std::uint32_t tag) const noexcept { return find(sends_, peer, tag); }

 private:
  struct Reference {
    schedule::Rank peer;
    std::uint32_t tag;
    std::uint32_t step;
  };
  static std::uint32_t find(const std::vector<Reference>& sorted, schedule::Rank peer, std::uint32_t tag) noexcept {
    if (sorted.size() != 1) return search(sorted, peer, tag);
    const Reference& only = sorted.front();
    return only.peer == peer && only.tag == tag ? only.step : none;
  }
  static std::uint32_t search(const std::vector<Reference>& sorted, schedule::Rank peer, std::uint32_t tag) noexcept;

  const schedule::Algorithm& algorithm_;
  schedule::Schedule schedule_;
  Lowering lowering_;
  std::uint64_t digest_;
  std::vector<Reference> receives_;  // by peer and tag
  std::vector<Reference> sends_;
  std::vector<schedule::Rank> peers_;
  std::vector<std::uint32_t> peer_index_;  // by step
  StepStates::Beginning beginning_;
  bool meets_everybody_;
  bool asks_in_turn_;
};

/// How a collective is done: an algorithm and the shape of its schedules. The same on all ranks.
struct Choice {
  const schedule::Algorithm* algorithm;
  schedule::Shape shape;
};

/// How a caller wants it done: an algorithm and its segments, or (null) as it is chosen.
struct Named {
  const schedule::Algorithm* algorithm = nullptr;
  std::uint32_t segments = 1;

  friend bool operator==(const Named&, const Named&) = default;
};

}  // namespace stretto
