#pragma once

#include <cstddef>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/sim/sim_options.h"
#include "stretto/fabric/sim/timeline.h"

namespace stretto::fabric {

/// When messages arrive: LogGP with jitter, reordering and delays. Pure arithmetic over per-node clocks.
///
/// A message of n bytes that node a sends at t leaves when a's sender is free, occupies it for max(o + n G, g),
/// reaches b after L (plus disorder), and is handled when b's receiver is free, after o more. What a sends several
/// nodes whose memory it shares at once takes it as long as one message (see Endpoint::multicast_to). Nodes of one host
/// have an L, o and G of their own between them, and no g; they share the wire to other hosts, on which the bytes of a
/// message, and g, begin when it is free.
class NetworkModel {
 public:
  explicit NetworkModel(const SimOptions& options);

  /// When the message reaches its target's receiver.
  VirtualTime reach(NodeId from, NodeId to, std::size_t bytes, VirtualTime now);
  /// The same of a message that leaves at once with the one that `from` has sent last, by the same link; by itself, if
  /// that has left.
  VirtualTime reach_along(NodeId from, NodeId to, std::size_t bytes, VirtualTime now);
  /// When the receiver, reached now, has handled it.
  VirtualTime handle(NodeId from, NodeId to, VirtualTime now);

 private:
  /// Between two nodes, in the numbers of virtual time.
  struct Link {
    VirtualTime latency;
    VirtualTime overhead;
    VirtualTime gap;
    double seconds_per_byte;
  };
  bool share_host(NodeId a, NodeId b) const { return options_.host_of(a) == options_.host_of(b); }
  const Link& link(NodeId from, NodeId to) const { return share_host(from, to) ? inside_ : between_; }
  VirtualTime arrive(const Link& by, VirtualTime injected);
  bool happens(double probability) { return probability > 0 && random_.unit() < probability; }

  SimOptions options_;
  Link between_;
  Link inside_;
  Random random_;
  std::vector<VirtualTime> sender_free_;
  std::vector<VirtualTime> wire_free_;  // by host
  std::vector<VirtualTime> receiver_free_;
};

}  // namespace stretto::fabric
