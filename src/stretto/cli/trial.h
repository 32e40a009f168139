#pragma once

#include <cstdint>
#include <vector>

#include "stretto/cli/fit.h"
#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"
#include "stretto/core/segment_array.h"
#include "stretto/schedule/select.h"

namespace stretto::cli {

/// For a job that measures: its workers keep to cores, so that times do not depend on where the system moves them,
/// unless STRETTO_BIND says otherwise.
void bind_workers(RuntimeOptions& options);

/// Whether neither STRETTO_FABRIC nor a launcher says what the fabric is: then it is up to the command.
bool is_fabric_open(const RuntimeOptions& options);

/// One candidate for a collective, with buffers of doubles in the node's segment: a node's part of its measurement.
/// Lives in that node's main, and outlives what it started.
class Trial {
 public:
  /// `barrier`: what calls are measured after. `bytes` as Request has them, rounded up to whole doubles. Throws
  /// Error(out_of_resources) when they do not fit into the segment.
  Trial(Node& node, const Group& group, const schedule::Algorithm& barrier, const schedule::Candidate& candidate,
        std::uint64_t bytes);

  Event start();
  /// Seconds of a call: the median over calls, each after a barrier, of the time of the slowest node. Takes about
  /// `budget` seconds, and a few calls at least. All of the group call it, and get the same.
  Task<double> measure(double budget);

 private:
  Task<double> seconds_of_calls(std::size_t count);

  Node& node_;
  const Group& group_;
  const CollectiveOptions barrier_;
  const schedule::Candidate& candidate_;
  const CallForm& form_;  // of its calls; lasts as long as the program
  SegmentArray<double> input_;
  SegmentArray<double> output_;
};

/// Measures each of `samples`, which are of `group`, and sets how long a call takes. All take turns, three times, for
/// about `seconds` each, and the median counts: for a while the system may leave two of the ranks on one core, or far
/// apart. Calls come after the barrier that is the quickest one here, as they will in a job that knows what was
/// measured: where ranks take turns on cores, it matters who had the last one. All nodes of the job call it; those
/// outside of the group wait, and get nothing.
Task<> measure_in_turns(Node& node, const Group& group, std::vector<Sample>& samples, double seconds);

}  // namespace stretto::cli
