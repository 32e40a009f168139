#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/fabric/bootstrap/environment.h"
#include "stretto/fabric/bootstrap/rendezvous.h"

namespace stretto::fabric {

/// What `stretto run` was asked to do.
struct LaunchOptions {
  std::uint32_t ranks = 1;
  std::vector<std::string> hosts;             ///< none: all ranks here; else ranks in blocks, in this order
  std::string agent = "ssh";                  ///< called as AGENT HOST COMMAND... to reach a host
  std::string bind_address = "127.0.0.1";     ///< where the rendezvous listens
  std::vector<std::string> agent_command;     ///< COMMAND: what becomes serve_as_agent() on the other host
  std::vector<std::string> exported;          ///< variables to hand to remote ranks besides the settings of Stretto
  std::vector<std::string> command;           ///< the program and its arguments
  std::chrono::milliseconds grace{5000};      ///< from a failure to SIGTERM, and from there to SIGKILL
  std::chrono::milliseconds patience{15000};  ///< until it is said for whom the job waits; then when it is thrice that
  bool keep_going = false;                    ///< let the others run on when a rank fails
  bool tag = false;                           ///< put "[rank] " before each line of output
};

/// The hosts of a job with their shares of the ranks: blocks whose sizes differ by at most one, no host without ranks.
std::vector<Rendezvous::Host> share_out(const LaunchOptions& options);

/// Runs the job and returns its exit code (see Rendezvous). Ranks are killed by the kernel if this process dies.
///
/// Takes over SIGINT, SIGTERM, SIGHUP and SIGPIPE of this process, which should do nothing else and must have only one
/// thread. Error(invalid_argument) for options that make no job, Error(io) when a program cannot be started.
int launch(const LaunchOptions& options, const Environment& environment);

/// The far end of an agent: reads its deployment from standard input, starts its ranks, reports their ends.
/// Kills them when standard input or the launcher's connection closes. Returns the exit code of the agent: 0 unless the
/// launcher was lost.
int serve_as_agent(const Environment& environment);

}  // namespace stretto::fabric
