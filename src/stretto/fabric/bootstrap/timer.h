#pragma once

#include <chrono>
#include <functional>

#include "stretto/base/descriptor.h"
#include "stretto/fabric/bootstrap/reactor.h"

namespace stretto::fabric {

/// Calls a function on the reactor's thread when a time has passed. Owned beside the reactor; all calls on its thread.
class Timer {
 public:
  /// Throws Error(io), Error(out_of_resources).
  Timer(Reactor& reactor, std::function<void()> expired);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  /// Once, in `time` from now, or at once where that is not positive; instead of what was started before.
  void start(std::chrono::milliseconds time);

 private:
  Reactor& reactor_;
  std::function<void()> expired_;
  Descriptor timer_;
};

}  // namespace stretto::fabric
