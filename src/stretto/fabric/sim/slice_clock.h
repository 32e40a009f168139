#pragma once

#include <cstdint>
#include <memory>

#include "stretto/base/cpu_clock.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/sim/sim_options.h"
#include "stretto/fabric/sim/timeline.h"

namespace stretto::fabric {

/// How long the slices of tasks take on `sim`, besides what they charge: measured and recorded, or replayed.
///
/// A slice is what a task does from where it begins or goes on until it ends, waits or charges. Owned by whoever runs
/// the tasks, one slice at a time, in one thread.
class SliceClock {
 public:
  virtual ~SliceClock() = default;

  /// A slice begins.
  virtual void start() noexcept = 0;
  /// It was of a task of `node`, and ends: how long it took. A replay throws Error(bad_input) when it has no more for
  /// this node.
  virtual VirtualTime stop(NodeId node) = 0;
  /// The job is over: writes the recording, if this is one. Throws Error(io).
  virtual void save() = 0;
};

/// The clock that `record` or `replay` of the options ask for; null if neither does. A file that cannot be written or
/// read is refused now: Error(io), or Error(bad_input) for what it holds. `cpu_nanoseconds` is what a recording
/// measures with.
///
/// The default is processor time, not time on the wall: the thread that simulates is interrupted by others, and what
/// they do is no part of the task.
std::unique_ptr<SliceClock> make_slice_clock(const SimOptions& options,
                                             std::int64_t (*cpu_nanoseconds)() noexcept = &thread_cpu_nanoseconds);

}  // namespace stretto::fabric
