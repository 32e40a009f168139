#pragma once

#include <cstdint>
#include <string_view>

#include "stretto/base/ids.h"

namespace stretto {

/// One thing that happened at one node. Only valid during the call that passes it: a sink copies what it keeps.
struct TraceRecord {
  double time;            ///< seconds on the node's clock, which is virtual under sim
  NodeId node;            ///< where it happened
  std::string_view what;  ///< a stable name such as "task_start"
  std::uint64_t subject;  ///< whom it happened to: an event's handle, a task's number
  std::uint64_t detail;   ///< depends on `what`
};

/// Receives what happens in a job, when somebody listens.
///
/// Owned by whoever listens, and outlives what it is passed to. Called by any thread of any node of the process,
/// several at once, in the middle of the runtime's work: it neither blocks nor calls back.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceRecord& record) noexcept = 0;
};

/// Passes a record on; costs one comparison when nobody listens (`sink` null).
inline void trace(TraceSink* sink, const TraceRecord& record) noexcept {
  if (sink != nullptr) sink->record(record);
}

}  // namespace stretto
