#pragma once

#include "stretto/core/event.h"

namespace stretto {

/// How a task is to be run. Has constructors and no public members, so that GCC 12 compiles it right inside of
/// `co_await` expressions: `co_await node.spawn(f, SpawnOptions().after(ready).priority(2))`.
class SpawnOptions {
 public:
  SpawnOptions() noexcept {}

  /// Does not begin before `event` has triggered; does not run at all, and is poisoned, when that is.
  SpawnOptions& after(Event event) noexcept {
    precondition_ = event;
    return *this;
  }
  /// Higher goes first among the ready tasks of a processor; 0 is normal. Collectives use 100.
  SpawnOptions& priority(int value) noexcept {
    priority_ = value;
    return *this;
  }
  /// The processor of the node to run on; otherwise they take turns. One that does not exist is an error: of `spawn`,
  /// and of the task where that is another node's.
  SpawnOptions& processor(int index) noexcept {
    processor_ = index;
    return *this;
  }

  /// Begins also in a job that has failed meanwhile, when other tasks do not: for one that uses nothing of others. Not
  /// of tasks on other nodes.
  SpawnOptions& in_any_case() noexcept {
    refusable_ = false;
    return *this;
  }

  Event precondition() const noexcept { return precondition_; }
  int priority() const noexcept { return priority_; }
  int processor() const noexcept { return processor_; }
  bool refusable() const noexcept { return refusable_; }

 private:
  Event precondition_;
  int priority_ = 0;
  int processor_ = -1;
  bool refusable_ = true;
};

}  // namespace stretto
