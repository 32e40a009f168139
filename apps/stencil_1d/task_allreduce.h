#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/node.h"
#include "stretto/core/phase_barrier.h"
#include "stretto/core/task.h"

namespace stencil_1d {

/// What a shard does in one round of recursive doubling: whose value it reads, and who reads its own.
struct Round {
  std::optional<stretto::NodeId> source;
  std::optional<stretto::NodeId> reader;
  bool takes_over = false;  ///< what it reads is the result, not a part of it
};

/// The rounds of `shard`, as many for each shard. Of `shards`, the largest power of two exchange with partners at
/// doubling distances; each of the others hands its value to one of them first, and reads the result from it last.
std::vector<Round> rounds_of(stretto::NodeId shard, std::uint32_t shards);

/// The all-reduce of the Legion paper (section II), made of tasks alone: the sum of one number of each node.
///
/// In each round an *update* task combines what the round before has read and stores the running sum in an exchange
/// slot, and a *read* task, which runs where the slot is, fetches the partner's. Two phase barriers for each round,
/// created up front, order them: *ready* lets the reader's task begin, *empty* says that the slot may be overwritten.
/// All tasks of a call are launched at once, at a raised priority, and wait for each other as their preconditions say.
/// Two slots take turns, so that no update waits for a read of the round just before.
///
/// A part of its node; used by one task, one call at a time.
class TaskAllreduce {
 public:
  explicit TaskAllreduce(stretto::Node& node);

  /// Makes the part of `node`. All nodes must have made theirs before any connects.
  static TaskAllreduce& attach(stretto::Node& node);

  /// Gives each partner the barriers that it arrives at. All nodes must be connected before any starts.
  stretto::Task<> connect();

  /// Reads `input` when `after` has triggered; `output` holds the sum of all nodes' inputs when the event triggers.
  /// Both must live until then. They may be the same.
  stretto::Event start(const double& input, double& output, stretto::Event after);

  // Called by the remote tasks of partners.
  void meet_reader(std::uint32_t round, stretto::PhaseBarrier ready) { places_[round].tell_reader = ready; }
  void meet_source(std::uint32_t round, stretto::PhaseBarrier empty) { places_[round].tell_source = empty; }
  double slot(std::uint32_t index) const { return slots_[index]; }

 private:
  // A round, with the coming phases of its barriers: those waited for here, and those arrived at, which are elsewhere.
  struct Place {
    Round round;
    stretto::PhaseBarrier source_is_ready;
    stretto::PhaseBarrier slot_is_empty;
    stretto::PhaseBarrier tell_reader;  // that the slot is ready
    stretto::PhaseBarrier tell_source;  // that its slot is empty
  };
  // The tasks of a call launched so far.
  struct Chain {
    stretto::Event updated;  // the running sum is as far as it has been launched
    const double* running;
    std::optional<stretto::Future<double>> read;  // not yet combined with the running sum
    bool takes_over = false;
  };

  void launch_update(Chain& chain, double& target, double* copy, stretto::Event may_store);
  void launch_store(Chain& chain, std::uint32_t round);
  void launch_read(Chain& chain, std::uint32_t round);

  stretto::Node& node_;
  std::vector<Place> places_;
  std::array<double, 2> slots_{};
  std::array<stretto::Event, 2> slot_is_free_{};
  double running_ = 0;
};

}  // namespace stencil_1d
