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
/// reaches b after L (plus disorder), and is handled when b's receiver is free, after o more.
class NetworkModel {
 public:
  explicit NetworkModel(const SimOptions& options);

  /// When the message reaches its target's receiver.
  VirtualTime reach(NodeId from, NodeId to, std::size_t bytes, VirtualTime now);
  /// When the receiver, reached now, has handled it.
  VirtualTime handle(NodeId to, VirtualTime now);

 private:
  bool happens(double probability) { return probability > 0 && random_.unit() < probability; }

  SimOptions options_;
  VirtualTime latency_;
  VirtualTime overhead_;
  VirtualTime gap_;
  Random random_;
  std::vector<VirtualTime> sender_free_;
  std::vector<VirtualTime> receiver_free_;
};

}  // namespace stretto::fabric
