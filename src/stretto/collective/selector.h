#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>

#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/core/surroundings.h"
#include "stretto/schedule/select.h"

namespace stretto {

/// The costs that the schedules of a job are chosen by: its tuning's, or the built-in ones, or those of the simulated
/// machine. Throws Error(bad_input) if the tuning is no table of costs.
schedule::CostTable costs_of(const Surroundings& surroundings);

/// Where the ranks of a group are, between whom there is `link`.
schedule::Placement placement_of(const Surroundings& surroundings, schedule::Link link);

/// Whether all members are on one host of a simulated machine.
bool is_in_simulated_host(const Surroundings& surroundings, const Group& group);

/// On which host each member of a group is, for schedules to go by: known where the members are on several hosts, and
/// several of them on one of these.
schedule::Hosts hosts_of(const Surroundings& surroundings, const Group& group);

/// Chooses schedules for the nodes of a process (decision 17): by schedule::select, from what is the same at all nodes
/// of the job, so that they agree without talking. Remembers what it chose. Any thread.
class Selector {
 public:
  /// `surroundings` outlive it. Throws Error(bad_input) if their tuning is no table of costs.
  explicit Selector(const Surroundings& surroundings);

  const Surroundings& surroundings() const noexcept { return surroundings_; }

  /// `shape` with the hosts of its group; `bytes` as bytes_of_vector has them. Sizes of one class
  /// (schedule::size_class) have one choice. `meets`: members may meet for such a call (see Placement).
  Choice choose(const schedule::Shape& shape, std::size_t bytes, bool equal_blocks, schedule::Link link,
                bool meets = false);

  /// See schedule::seconds_together; over wires.
  std::optional<double> seconds_together(std::span<const schedule::PlacedReduce> reduces) const {
    return schedule::seconds_together(reduces, placement_of(surroundings_, schedule::Link::wire), costs_);
  }

 private:
  using Key = std::tuple<schedule::Shape, std::uint64_t, bool, schedule::Link, bool>;

  const Surroundings& surroundings_;
  const schedule::CostTable costs_;
  std::mutex mutex_;  // held while a choice is made: others want the same one
  std::map<Key, Choice> known_;
};

}  // namespace stretto
