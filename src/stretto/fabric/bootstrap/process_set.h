#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "stretto/fabric/bootstrap/line_forwarder.h"
#include "stretto/fabric/bootstrap/process.h"
#include "stretto/fabric/bootstrap/reactor.h"

namespace stretto::fabric {

/// Child processes under a number each, their output forwarded line by line to ours, their ends reported.
///
/// Owned by the launcher or by a host's agent; all calls on its one thread. Destroyed, it kills what still runs.
class ProcessSet {
 public:
  using Ended = std::function<void(std::uint32_t number, ExitStatus status)>;

  /// `ended` is called from reactor.turn(), after the last output of the process was forwarded. `output_lost` is called
  /// when our own output can't be written any more.
  ProcessSet(Reactor& reactor, Ended ended, std::function<void()> output_lost);
  ProcessSet(const ProcessSet&) = delete;
  ProcessSet& operator=(const ProcessSet&) = delete;
  ~ProcessSet();

  /// `tag` goes before each line of output. Errors as Process. REQUIRES: `number` was not used before.
  Process& start(std::uint32_t number, const ProcessPlan& plan, const std::string& tag);
  void signal(std::uint32_t number, int signal) const;
  void signal_all(int signal) const;
  bool empty() const { return members_.empty(); }

 private:
  struct Member {
    Process process;
    LineForwarder output;
    LineForwarder errors;
  };

  void watch_stream(const Descriptor& from, LineForwarder& forwarder, int to);
  void forward(int from, LineForwarder& forwarder, int to);
  void write_out(int to, std::string_view text);
  void collect(std::uint32_t number);

  Reactor& reactor_;
  Ended ended_;
  std::function<void()> output_lost_;
  std::map<std::uint32_t, Member> members_;
};

}  // namespace stretto::fabric
