#include "stretto/fabric/sim/network_model.h"

#include <algorithm>

namespace stretto::fabric {

NetworkModel::NetworkModel(const SimOptions& options)
    : options_(options),
      between_{to_virtual(options.latency), to_virtual(options.overhead), to_virtual(options.gap),
               options.seconds_per_byte},
      inside_{to_virtual(options.inside_latency), to_virtual(options.inside_overhead), 0,
              options.inside_seconds_per_byte},
      random_(options.seed ^ 0x6e6574776f726bU),
      sender_free_(options.nodes, 0),
      wire_free_(options.hosts == 0 ? options.nodes : options.hosts, 0),
      receiver_free_(options.nodes, 0) {}

VirtualTime NetworkModel::reach(NodeId from, NodeId to, std::size_t bytes, VirtualTime now) {
  if (from == to) return now;
  const Link& its = link(from, to);
  VirtualTime begin = std::max(now, sender_free_[from]) + its.overhead;
  VirtualTime* wire = share_host(from, to) ? nullptr : &wire_free_[options_.host_of(from)];
  if (wire != nullptr) begin = std::max(begin, *wire);
  const VirtualTime injected = begin + to_virtual(static_cast<double>(bytes) * its.seconds_per_byte);
  sender_free_[from] = injected;
  if (wire != nullptr) *wire = std::max(injected, begin + its.gap);
  return arrive(its, injected);
}

VirtualTime NetworkModel::reach_along(NodeId from, NodeId to, std::size_t bytes, VirtualTime now) {
  if (sender_free_[from] <= now) return reach(from, to, bytes, now);
  return arrive(link(from, to), sender_free_[from]);
}

VirtualTime NetworkModel::arrive(const Link& by, VirtualTime injected) {
  VirtualTime arrival = injected + by.latency;
  if (options_.jitter > 0) arrival += to_virtual(options_.jitter * random_.unit());
  if (happens(options_.reorder)) arrival += to_virtual(4 * options_.latency * random_.unit());
  if (happens(options_.delay_probability)) arrival += to_virtual(options_.delay);
  return arrival;
}

VirtualTime NetworkModel::handle(NodeId from, NodeId to, VirtualTime now) {
  receiver_free_[to] = std::max(now, receiver_free_[to]) + link(from, to).overhead;
  return receiver_free_[to];
}

}  // namespace stretto::fabric
