#include "stretto/collective/selector.h"

#include <vector>

namespace stretto {

namespace {

// Virtual time passes for messages alone.
schedule::Costs costs_of(const fabric::SimOptions& machine) {
  return {.latency = machine.latency,
          .overhead = machine.overhead,
          .gap = machine.gap,
          .byte_time = machine.seconds_per_byte};
}

schedule::Costs costs_inside_hosts(const fabric::SimOptions& machine) {
  return {.latency = machine.inside_latency,
          .overhead = machine.inside_overhead,
          .byte_time = machine.inside_seconds_per_byte};
}

}  // namespace

schedule::CostTable costs_of(const Surroundings& surroundings) {
  const Tuning& tuning = surroundings.tuning;
  schedule::CostTable table =
      tuning.text.empty() ? schedule::built_in_costs() : schedule::parse_cost_table(tuning.text, tuning.origin);
  if (surroundings.simulated != nullptr) {
    table.of(schedule::Link::wire) = costs_of(*surroundings.simulated);
    table.of(schedule::Link::host) = costs_inside_hosts(*surroundings.simulated);
    for (const schedule::Link link : {schedule::Link::wire, schedule::Link::host}) {
      table.origin(link) = "the simulated machine's";
    }
  }
  return table;
}

schedule::Placement placement_of(const Surroundings& surroundings, schedule::Link link) {
  return {.link = link,
          .ranks_of_machine = surroundings.occupancy.nodes,
          .cores_of_machine = surroundings.occupancy.cores,
          .maps = surroundings.simulated == nullptr};
}

schedule::Hosts hosts_of(const Surroundings& surroundings, const Group& group) {
  if (surroundings.hosts.empty()) return {};
  std::vector<std::uint32_t> host_of;
  for (const NodeId node : group.nodes()) host_of.push_back(surroundings.hosts[node]);
  schedule::Hosts hosts(host_of);
  return hosts.are_nested() ? hosts : schedule::Hosts();
}

Selector::Selector(const Surroundings& surroundings) : surroundings_(surroundings), costs_(costs_of(surroundings)) {}

Choice Selector::choose(const schedule::Shape& shape, std::size_t bytes, bool equal_blocks, schedule::Link link) {
  schedule::Request request;
  request.shape = shape;
  request.equal_blocks = equal_blocks;
  request.bytes = schedule::size_class(schedule::cuts_vector(shape.operation) ? bytes : bytes / shape.size);
  request.placement = placement_of(surroundings_, link);
  const Key key{shape, request.bytes, equal_blocks, link};
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const schedule::Candidate chosen = schedule::select(request, costs_);
  return known_.try_emplace(key, Choice{chosen.algorithm, chosen.shape}).first->second;
}

}  // namespace stretto
