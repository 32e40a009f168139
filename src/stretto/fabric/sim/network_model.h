#pragma once

#include <cstddef>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/sim/sim_options.h"
#include "stretto/fabric/sim/timeline.h"

namespace stretto::fabric {

/// When messages arrive: LogGP with jitter, reordering and delays. Pure arithmetic over clocks of nodes and wires.
///
/// A message costs its sender's processor o, then the wire of its sender's host, where it takes g and (n - 1) G for its
/// n bytes; its first byte reaches the other host L later (plus disorder), whose wire the bytes take for as long; then
/// it costs its receiver's processor o. Each of these serves one message after another, a node's processor those that
/// it sends and those that it receives. So many to one takes as long as their bytes do, as one to many.
///
/// Nodes of one host have an L, o and G of their own between them, and no wire: the sender's processor moves the bytes.
/// What a node sends several others whose memory it shares at once takes it as long as one message (see
/// Endpoint::multicast_to).
class NetworkModel {
 public:
  explicit NetworkModel(const SimOptions& options);

  /// When the message reaches its target's host.
  VirtualTime reach(NodeId from, NodeId to, std::size_t bytes, VirtualTime now);
  /// The same of a message that leaves at once with the one that `from` has sent last, by the same link; by itself, if
  /// that has left.
  VirtualTime reach_along(NodeId from, NodeId to, std::size_t bytes, VirtualTime now);
  /// When all of a message is there that reaches its target's host now.
  VirtualTime land(NodeId from, NodeId to, std::size_t bytes, VirtualTime now);
  /// When the receiver has handled a message all of which is there now.
  VirtualTime handle(NodeId from, NodeId to, VirtualTime now);

 private:
  /// Between two nodes, in the numbers of virtual time.
  struct Link {
    VirtualTime latency;
    VirtualTime overhead;
    VirtualTime gap;
    double seconds_per_byte;

    VirtualTime streaming(std::size_t bytes) const {
      return bytes == 0 ? 0 : to_virtual(static_cast<double>(bytes - 1) * seconds_per_byte);
    }
  };
  /// What connects a host with others, when it is free.
  struct Wire {
    VirtualTime outward = 0;
    VirtualTime inward = 0;
  };
  bool share_host(NodeId a, NodeId b) const { return options_.host_of(a) == options_.host_of(b); }
  const Link& link(NodeId from, NodeId to) const { return share_host(from, to) ? inside_ : between_; }
  VirtualTime arrive(const Link& by, VirtualTime left);
  bool happens(double probability) { return probability > 0 && random_.unit() < probability; }

  SimOptions options_;
  Link between_;
  Link inside_;
  Random random_;
  std::vector<VirtualTime> processor_free_;  // by node
  std::vector<VirtualTime> left_;            // by node: when what it sent last left it; -1: nothing did
  std::vector<Wire> wires_;                  // by host
};

}  // namespace stretto::fabric
