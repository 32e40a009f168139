#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "stretto/base/descriptor.h"
#include "stretto/fabric/bootstrap/environment.h"
#include "stretto/fabric/bootstrap/exit_status.h"

namespace stretto::fabric {

/// Makes this process one that starts others, before it opens anything: each standard stream that is closed leads to
/// nowhere, so that nothing else gets its number, and as many descriptors are used as the system allows, since a child
/// takes a few. Throws as throw_io.
void prepare_to_start_processes();

/// What to start, and with what.
struct ProcessPlan {
  std::vector<std::string> command;  ///< program (looked for in PATH) and arguments
  Environment environment;
  std::string folder;  ///< to work in; empty: where we are
  int inherited = -1;  ///< a descriptor to hand down under its own number
  bool input = false;  ///< with a pipe for standard input; otherwise it is empty
};

/// A child process: killed and collected with this object, and killed by the kernel when this process dies.
///
/// It leads a process group of its own, so that signals reach what it started, and Ctrl-C reaches only the launcher.
class Process {
 public:
  /// Error(io) with the system's reason when the program cannot be started.
  /// REQUIRES: this process has one thread, and the calling thread lives as long as the child shall.
  explicit Process(const ProcessPlan& plan);
  Process(Process&&) noexcept = default;
  Process& operator=(Process&&) = delete;
  ~Process();

  int exit_descriptor() const { return handle_.number(); }  ///< readable when it has ended
  const Descriptor& output() const { return output_; }      ///< non-blocking
  const Descriptor& errors() const { return errors_; }      ///< non-blocking
  const Descriptor& input() const { return input_; }        ///< non-blocking; only with plan.input

  /// To its whole process group, as long as it has not been collected.
  void signal(int number) const;
  /// How it ended, once; nothing while it runs.
  std::optional<ExitStatus> collect();

 private:
  pid_t id_ = -1;  // -1: collected
  Descriptor handle_;
  Descriptor output_;
  Descriptor errors_;
  Descriptor input_;
};

}  // namespace stretto::fabric
