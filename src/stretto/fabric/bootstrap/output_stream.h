#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "stretto/fabric/bootstrap/line_forwarder.h"
#include "stretto/fabric/bootstrap/reactor.h"

namespace stretto::fabric {

/// Standard output or standard error of the launcher or of a host's agent: what its processes write, line by line.
///
/// Writes only as much as is taken at once, so that nothing else has to wait for a reader: while there is none, the
/// processes are not read either, and their own pipes make them wait. Owned beside the reactor; all calls on its
/// thread.
class OutputStream {
 public:
  /// `lost` is called once, when nothing can be written any more; all text is dropped from then on.
  OutputStream(Reactor& reactor, int descriptor, std::function<void()> lost);
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream();

  /// Passes on what comes from `source`, which does not block; `tag` goes before each line.
  void carry(int source, const std::string& tag);
  /// Takes what `source` still holds, read or not, and forgets it.
  void finish(int source);
  /// Forgets `source` if it is carried.
  void abandon(int source);

  /// Whole lines of our own.
  void write(std::string_view text);
  /// Whether some text has not been taken yet.
  bool pending() const { return !unwritten_.empty(); }

 private:
  void listen(int source);
  void pass_on(int source, bool all);
  void drain();
  void wait_for_room();
  void go_on();

  Reactor& reactor_;
  int descriptor_;
  std::function<void()> lost_;  // empty once it was called
  std::map<int, LineForwarder> sources_;
  std::string unwritten_;
  bool waiting_ = false;  // for room; no source is read meanwhile
};

}  // namespace stretto::fabric
