#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "stretto/base/ids.h"
#include "stretto/fabric/local/reach.h"

namespace stretto::fabric {

/// When a node of a simulated machine dies: at a virtual time, or when the job's message number `message` is sent.
struct KillFault {
  NodeId node = 0;
  double seconds = -1;                                                ///< negative: not by time
  std::uint64_t message = std::numeric_limits<std::uint64_t>::max();  ///< counted from 0
};

/// A simulated machine: LogGP parameters (Alexandrov et al. 1995), disorder, faults. Times in seconds.
struct SimOptions {
  std::uint32_t nodes = 1;
  std::uint32_t hosts = 0;  ///< the nodes are on so many hosts, in order and as evenly as can be; 0: each has its own
  std::uint64_t seed = 1;
  double latency = 1e-6;                    ///< L: on the wire
  double overhead = 0.2e-6;                 ///< o: of each message, of its sender's processor and of its receiver's
  double gap = 0;                           ///< g: of each message, on the wire of either host, beside its bytes
  double seconds_per_byte = 0.1e-9;         ///< G: 1 / bandwidth, of either wire
  double inside_latency = 0.1e-6;           ///< L between nodes of one host
  double inside_overhead = 0.05e-6;         ///< o between these
  double inside_seconds_per_byte = 0.1e-9;  ///< G between these
  double jitter = 0;                        ///< added to each latency, uniform in [0, jitter)
  double reorder = 0;            ///< probability that a message is delayed past later ones, by up to 4 latencies
  double delay_probability = 0;  ///< probability of a fault that delays a message by `delay`
  double delay = 0;
  double early = 0;  ///< probability that a look for one peer's messages finds one that is still under way
  /// How nodes reach each other's memory, not `everything`; what they touch or read there takes no time.
  Reach reach = Reach::messages;
  double task = 0;           ///< cost of launching a task
  std::string record;        ///< file for the measured durations of task slices; empty: tasks take what they charge
  std::string replay;        ///< file to take them from instead; at most one of the two
  double detection = 20e-6;  ///< from a node's death until its peers know
  std::vector<KillFault> kills;
  std::size_t segment_bytes = std::size_t{1} << 30U;

  bool segments_in_place() const noexcept { return reach != Reach::messages; }
  /// REQUIRES: node < nodes.
  std::uint32_t host_of(NodeId node) const noexcept {
    if (hosts == 0) return node;
    const std::uint32_t fuller = nodes % hosts;  // hosts with one node more than the others, the first ones
    const std::uint32_t each = nodes / hosts;
    const std::uint32_t in_fuller = fuller * (each + 1);
    return node < in_fuller ? node / (each + 1) : fuller + (node - in_fuller) / each;
  }
};

}  // namespace stretto::fabric
