#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/descriptor.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/bootstrap/environment.h"
#include "stretto/fabric/bootstrap/handshake.h"
#include "stretto/fabric/bootstrap/process.h"

namespace stretto::fabric {

/// What the agent of a remote host has to know: the launcher writes it to the agent program's standard input, so that
/// neither the secret nor the user's arguments pass through a command line or a remote shell.
struct Deployment {
  JobSecret secret;
  std::string endpoint;  ///< of the launcher
  std::uint32_t host = 0;
  std::uint32_t size = 0;
  NodeId first = 0;
  std::uint32_t ranks = 0;
  bool tag = false;
  std::string folder;
  Environment environment;  ///< beyond what the host has itself
  std::vector<std::string> command;
};

/// With its length (32 bits) first.
std::vector<std::byte> encode(const Deployment& deployment);

/// From bytes without the length, which may be anything. Error(bad_input) when they are no deployment.
Deployment decode_deployment(ConstByteSpan bytes);

inline constexpr std::size_t max_deployment_bytes = std::size_t{16} << 20U;

/// How the launcher or an agent starts rank `rank` of a job: its command, and the variables that announce the job.
/// `secret_descriptor` is inherited by it. `cores`: that the host has for its ranks.
///
/// Ranks that outnumber them do without the C library's restartable sequences (GLIBC_TUNABLES, unless that speaks of
/// them): the kernel minds these at every switch, and nothing in Stretto uses them (decision 43).
ProcessPlan plan_rank(const Deployment& deployment, NodeId rank, const Environment& environment, int secret_descriptor,
                      unsigned cores);

/// A descriptor from which ranks read the secret: an anonymous file that can't be changed.
Descriptor secret_file(const JobSecret& secret);

/// What goes before each line of a rank's output.
std::string tag_of(const Deployment& deployment, NodeId rank);

}  // namespace stretto::fabric
