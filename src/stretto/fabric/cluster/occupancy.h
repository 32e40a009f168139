#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "stretto/fabric/occupancy.h"

namespace stretto::fabric::cluster {

/// What a node says of where it is.
struct Whereabouts {
  std::string machine;      ///< hosts may share one: containers, network namespaces
  std::uint32_t cores = 1;  ///< of the machine
};

/// Of the machine with most nodes for its cores; among equals, of the one that has the first node. REQUIRES: a node.
inline Occupancy fullest_machine(std::span<const Whereabouts> nodes) {
  std::map<std::string_view, Occupancy> machines;
  for (const Whereabouts& node : nodes) {
    Occupancy& machine = machines.try_emplace(node.machine, Occupancy{0, 1}).first->second;
    ++machine.nodes;
    machine.cores = std::max(machine.cores, node.cores);
  }
  Occupancy fullest = machines.at(nodes.front().machine);
  for (const Whereabouts& node : nodes) {
    const Occupancy& machine = machines.at(node.machine);
    if (std::uint64_t{machine.nodes} * fullest.cores > std::uint64_t{fullest.nodes} * machine.cores) fullest = machine;
  }
  return fullest;
}

}  // namespace stretto::fabric::cluster
