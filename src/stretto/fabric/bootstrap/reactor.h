#pragma once

#include <functional>
#include <map>

namespace stretto::fabric {

/// Waits for descriptors and calls what was registered for them; the launcher's and the host agent's one thread.
///
/// A callback may watch and forget any descriptor, and must bear to be called when nothing is there to be read.
class Reactor {
 public:
  using Callback = std::function<void(short ready)>;

  void watch(int descriptor, short events, Callback callback);
  /// Waits for other events than before. REQUIRES: it is watched.
  void change(int descriptor, short events);
  void forget(int descriptor);

  /// Waits until something is ready, then calls for everything that is.
  void turn();

 private:
  struct Watch {
    short events;
    Callback callback;
  };
  std::map<int, Watch> watches_;
};

}  // namespace stretto::fabric
