#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/fabric/bootstrap/output_stream.h"
#include "stretto/fabric/bootstrap/process.h"
#include "stretto/fabric/bootstrap/reactor.h"

namespace stretto::fabric {

/// Child processes under a number each, their output passed on line by line, their ends reported.
///
/// Owned by the launcher or by a host's agent; all calls on its one thread. Destroyed, it kills what still runs.
class ProcessSet {
 public:
  using Ended = std::function<void(std::uint32_t number, ExitStatus status)>;

  /// `ended` is called from reactor.turn(), after the last output of the process was passed on.
  ProcessSet(Reactor& reactor, OutputStream& output, OutputStream& errors, Ended ended);
  ProcessSet(const ProcessSet&) = delete;
  ProcessSet& operator=(const ProcessSet&) = delete;
  ~ProcessSet();

  /// `tag` goes before each line of output. Errors as Process. REQUIRES: `number` was not used before.
  void start(std::uint32_t number, const ProcessPlan& plan, const std::string& tag);
  /// Writes to the process's standard input as it reads; what one that ends leaves over is dropped. The input stays
  /// open. REQUIRES: once for a process with ProcessPlan::input.
  void feed(std::uint32_t number, std::vector<std::byte> bytes);
  void signal(std::uint32_t number, int signal) const;
  void signal_all(int signal) const;
  bool empty() const { return members_.empty(); }

 private:
  struct Member {
    Process process;
    std::vector<std::byte> unfed;
  };

  void feed_on(Member& member);
  void stop_feeding(Member& member);
  void collect(std::uint32_t number);

  Reactor& reactor_;
  OutputStream& output_;
  OutputStream& errors_;
  Ended ended_;
  std::map<std::uint32_t, Member> members_;
};

}  // namespace stretto::fabric
