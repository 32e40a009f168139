#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/cluster/host/process_memory.h"
#include "stretto/fabric/fabric.h"

namespace stretto::fabric {

struct ClusterOptions {
  /// Address space of this node's segment.
  std::size_t segment_bytes = std::size_t{64} << 30U;
  /// Off: no peer's segment is touched in place, and all bytes travel in messages, as between hosts.
  bool peer_pointer = true;
  /// Whether nodes of a host read each other's memory that is not in segments.
  cluster::ProcessReads process_reads = cluster::ProcessReads::automatic;
  /// Lines of 64 bytes in the long ring of one directed edge between nodes of a host: a power of two, 512 to 2^20.
  std::uint32_t ring_lines = 1024;
  /// What carries messages to other hosts: see network/carrier.h.
  std::string network = "tcp";
  /// A digest of what all nodes of the job must have alike beside their program: the tuning. Compared at the start.
  std::uint64_t tuning_digest = 0;
};

/// `cluster`: a node is a process. Peers of the same host are reached through shared memory, others over a network.
///
/// Collective over the job: returns when this node and its host's peers know each other. The fabric has one endpoint
/// and no threads; its context polls the endpoint when it is served. `overflow` outlives it. `Fabric::close` calls
/// nobody back any more, blocks until what was sent has left, and says goodbye, so that peers don't take the end for a
/// death. A fabric that is destroyed without it is a death to its peers. Throws Error: invalid_argument (options, the
/// network), out_of_resources, not_supported (no network to a host), bad_input (nodes of different versions), mismatch
/// (nodes of different tuning), peer_lost (the launcher, or a node before it was there).
std::unique_ptr<Fabric> make_cluster_fabric(std::unique_ptr<Bootstrap> bootstrap, const ClusterOptions& options,
                                            Overflow* overflow);

}  // namespace stretto::fabric
