#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/ids.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/occupancy.h"

namespace stretto::fabric {

/// The nodes of a job that live in this process, with what connects them to all others.
class Fabric {
 public:
  virtual ~Fabric() = default;
  /// "local", "sim" or "cluster".
  virtual std::string_view name() const = 0;
  /// The nodes of this process, in order of their ids. Valid as long as the fabric.
  virtual std::span<Endpoint* const> endpoints() = 0;
  /// Number of nodes of the whole job.
  virtual std::uint32_t size() const = 0;
  /// The host that a node lives on: nodes with equal strings share memory. Any thread.
  virtual std::string host_of(NodeId node) const = 0;
  /// Of the host where nodes have the fewest cores each: the same on all nodes. Where nodes share a process, its owner
  /// knows better. Any thread.
  virtual Occupancy occupancy() const { return {}; }
  /// What carries bytes to a node, for people and tests: "memory" within a host, otherwise networks such as
  /// "tcp/eth0", none before the first use. Any thread that holds no baton.
  virtual std::vector<std::string> networks_to(NodeId /*node*/) { return {"memory"}; }
  /// Leaves the job in good order. After it no endpoint is used.
  virtual void close() {}
};

}  // namespace stretto::fabric
