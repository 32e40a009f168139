#include "stretto/fabric/sim/network_model.h"

#include <algorithm>

namespace stretto::fabric {

namespace {

// No later than what ends the job, so that no sum overflows.
VirtualTime later_of(VirtualTime a, VirtualTime b) { return std::min(std::max(a, b), end_of_time + 1); }

}  // namespace

NetworkModel::NetworkModel(const SimOptions& options)
    : options_(options),
      between_{to_virtual(options.latency), to_virtual(options.overhead), to_virtual(options.gap),
               options.seconds_per_byte},
      inside_{to_virtual(options.inside_latency), to_virtual(options.inside_overhead), 0,
              options.inside_seconds_per_byte},
      random_(options.seed ^ 0x6e6574776f726bU),
      processor_free_(options.nodes, 0),
      left_(options.nodes, -1),
      wires_(options.hosts == 0 ? options.nodes : options.hosts) {}

VirtualTime NetworkModel::reach(NodeId from, NodeId to, std::size_t bytes, VirtualTime now) {
  if (from == to) return now;
  const Link& its = link(from, to);
  VirtualTime& processor = processor_free_[from];
  processor = later_of(now, processor) + its.overhead;
  if (share_host(from, to)) {
    processor += its.streaming(bytes);
    left_[from] = processor;
  } else {
    VirtualTime& wire = wires_[options_.host_of(from)].outward;
    left_[from] = later_of(processor, wire);
    wire = left_[from] + its.gap + its.streaming(bytes);
  }
  return arrive(its, left_[from]);
}

VirtualTime NetworkModel::reach_along(NodeId from, NodeId to, std::size_t bytes, VirtualTime now) {
  if (left_[from] < now) return reach(from, to, bytes, now);
  return arrive(link(from, to), left_[from]);
}

VirtualTime NetworkModel::arrive(const Link& by, VirtualTime left) {
  VirtualTime arrival = left + by.latency;
  if (options_.jitter > 0) arrival += to_virtual(options_.jitter * random_.unit());
  if (happens(options_.reorder)) arrival += to_virtual(4 * options_.latency * random_.unit());
  if (happens(options_.delay_probability)) arrival += to_virtual(options_.delay);
  return arrival;
}

VirtualTime NetworkModel::land(NodeId from, NodeId to, std::size_t bytes, VirtualTime now) {
  if (share_host(from, to)) return now;
  const Link& its = link(from, to);
  VirtualTime& wire = wires_[options_.host_of(to)].inward;
  const VirtualTime begin = later_of(now, wire);
  wire = begin + its.gap + its.streaming(bytes);
  return begin + its.streaming(bytes);
}

VirtualTime NetworkModel::handle(NodeId from, NodeId to, VirtualTime now) {
  if (from == to) return now;
  processor_free_[to] = later_of(now, processor_free_[to]) + link(from, to).overhead;
  return processor_free_[to];
}

}  // namespace stretto::fabric
