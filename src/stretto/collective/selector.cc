#include "stretto/collective/selector.h"

#include <algorithm>
#include <vector>

namespace stretto {

namespace {

// Virtual time passes for messages alone. What is large is asked for by one.
schedule::Costs costs_of(const fabric::SimOptions& machine) {
  return {.latency = machine.latency,
          .overhead = machine.overhead,
          .announcement = machine.overhead,
          .gap = machine.gap,
          .byte_time = machine.seconds_per_byte};
}

schedule::Costs costs_inside_hosts(const fabric::SimOptions& machine) {
  return {.latency = machine.inside_latency,
          .overhead = machine.inside_overhead,
          .announcement = machine.inside_overhead,
          .byte_time = machine.inside_seconds_per_byte};
}

// Where segments are reached, bytes take time in small messages alone: the sender's, of which each end is priced half.
schedule::Costs in_place(schedule::Costs costs) {
  costs.inline_time = costs.byte_time / 2;
  costs.byte_time = 0;
  return costs;
}

// Of its links, `local` stands for what lies between hosts whose nodes reach each other's segments.
void put_costs_of(const fabric::SimOptions& machine, schedule::CostTable& table) {
  const schedule::Costs inside = costs_inside_hosts(machine);
  table.of(schedule::Link::wire) = costs_of(machine);
  table.of(schedule::Link::local) = in_place(costs_of(machine));
  table.of(schedule::Link::host) = machine.segments_in_place() ? in_place(inside) : inside;
  table.origins.fill("the simulated machine's");
}

}  // namespace

schedule::CostTable costs_of(const Surroundings& surroundings) {
  const Tuning& tuning = surroundings.tuning;
  schedule::CostTable table =
      tuning.text.empty() ? schedule::built_in_costs() : schedule::parse_cost_table(tuning.text, tuning.origin);
  if (surroundings.simulated != nullptr) put_costs_of(*surroundings.simulated, table);
  return table;
}

schedule::Placement placement_of(const Surroundings& surroundings, schedule::Link link) {
  const fabric::SimOptions* const machine = surroundings.simulated;
  return {.link = link,
          .ranks_of_machine = surroundings.occupancy.nodes,
          .cores_of_machine = surroundings.occupancy.cores,
          .maps = machine == nullptr || machine->segments_in_place(),
          .multicasts = machine == nullptr ? link != schedule::Link::local : machine->segments_in_place(),
          .meets = machine == nullptr && link == schedule::Link::local};
}

bool is_in_simulated_host(const Surroundings& surroundings, const Group& group) {
  if (surroundings.simulated == nullptr || surroundings.hosts.empty()) return false;
  const auto host_of = [&surroundings](NodeId node) { return surroundings.hosts[node]; };
  const auto nodes = group.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return host_of(node) == host_of(nodes.front()); });
}

schedule::Hosts hosts_of(const Surroundings& surroundings, const Group& group) {
  if (surroundings.hosts.empty()) return {};
  std::vector<std::uint32_t> host_of;
  for (const NodeId node : group.nodes()) host_of.push_back(surroundings.hosts[node]);
  schedule::Hosts hosts(host_of);
  return hosts.are_nested() ? hosts : schedule::Hosts();
}

Selector::Selector(const Surroundings& surroundings) : surroundings_(surroundings), costs_(costs_of(surroundings)) {}

Choice Selector::choose(const schedule::Shape& shape, std::size_t bytes, bool equal_blocks, schedule::Link link,
                        bool meets) {
  schedule::Request request;
  request.shape = shape;
  request.equal_blocks = equal_blocks;
  request.bytes = schedule::size_class(schedule::cuts_vector(shape.operation) ? bytes : bytes / shape.size);
  request.placement = placement_of(surroundings_, link);
  request.placement.meets = meets;
  const Key key{shape, request.bytes, equal_blocks, link, meets};
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const schedule::Candidate chosen = schedule::select(request, costs_);
  return known_.try_emplace(key, Choice{chosen.algorithm, chosen.shape}).first->second;
}

}  // namespace stretto
