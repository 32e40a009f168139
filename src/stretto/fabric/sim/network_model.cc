#include "stretto/fabric/sim/network_model.h"

#include <algorithm>

namespace stretto::fabric {

NetworkModel::NetworkModel(const SimOptions& options)
    : options_(options),
      latency_(to_virtual(options.latency)),
      overhead_(to_virtual(options.overhead)),
      gap_(to_virtual(options.gap)),
      random_(options.seed ^ 0x6e6574776f726bU),
      sender_free_(options.nodes, 0),
      receiver_free_(options.nodes, 0) {}

VirtualTime NetworkModel::reach(NodeId from, NodeId to, std::size_t bytes, VirtualTime now) {
  if (from == to) return now;
  const VirtualTime start = std::max(now, sender_free_[from]);
  const VirtualTime injected = start + overhead_ + to_virtual(static_cast<double>(bytes) * options_.seconds_per_byte);
  sender_free_[from] = std::max(injected, start + gap_);
  VirtualTime arrival = injected + latency_;
  if (options_.jitter > 0) arrival += to_virtual(options_.jitter * random_.unit());
  if (happens(options_.reorder)) arrival += to_virtual(4 * options_.latency * random_.unit());
  if (happens(options_.delay_probability)) arrival += to_virtual(options_.delay);
  return arrival;
}

VirtualTime NetworkModel::handle(NodeId to, VirtualTime now) {
  receiver_free_[to] = std::max(now, receiver_free_[to]) + overhead_;
  return receiver_free_[to];
}

}  // namespace stretto::fabric
