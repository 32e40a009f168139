#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/fabric.h"
#include "stretto/fabric/local/in_process_endpoint.h"
#include "stretto/fabric/sim/network_model.h"
#include "stretto/fabric/sim/sim_options.h"
#include "stretto/fabric/sim/timeline.h"

namespace stretto::fabric {

/// `sim:N`: nodes as objects in one process, in virtual time, with one running thread. The same options and seed
/// give the same run, bit for bit. Whoever drives the timeline drives the fabric.
class SimFabric final : public Fabric, private Carrier {
 public:
  explicit SimFabric(const SimOptions& options);
  ~SimFabric() override;

  std::string_view name() const override { return "sim"; }
  std::span<Endpoint* const> endpoints() override { return endpoints_; }
  std::uint32_t size() const override { return options_.nodes; }
  std::string host_of(NodeId node) const override { return "sim-" + std::to_string(options_.host_of(node)); }

  const SimOptions& options() const noexcept { return options_; }
  Timeline& timeline() noexcept { return timeline_; }
  bool alive(NodeId node) const { return alive_[node]; }
  std::uint64_t messages() const noexcept { return messages_; }

  /// Kills a node now: it sends and receives nothing any more; its peers learn of it after `detection`.
  void kill(NodeId node);
  /// Called once for every node that dies, at the moment of its death.
  void on_kill(std::function<void(NodeId)> listener) { kill_listener_ = std::move(listener); }

 private:
  class Flight;
  class Reaching;
  class Landing;
  class Handling;
  class Death;
  class Obituary;

  void carry(Parcel* parcel, std::size_t bytes) override;
  void carry_along(Parcel* parcel, std::size_t bytes) override;
  bool carries_along(NodeId from, NodeId to) const override {
    return options_.segments_in_place() && (options_.hosts == 0 || options_.host_of(from) == options_.host_of(to));
  }
  template <class WhenItReaches>
  void launch(Parcel* parcel, std::size_t bytes, const WhenItReaches& when_it_reaches);
  Parcel* look_for(NodeId from, NodeId to) override;
  bool looks() const override { return options_.early > 0; }

  SimOptions options_;
  std::map<std::pair<NodeId, NodeId>, std::vector<Flight*>> flights_;  // from and to; only where nodes look for some
  Timeline timeline_;
  NetworkModel network_;
  Random looks_random_;
  std::uint64_t messages_ = 0;
  std::vector<bool> alive_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::unique_ptr<InProcessEndpoint>> owned_;
  std::vector<Endpoint*> endpoints_;
  std::function<void(NodeId)> kill_listener_;
};

}  // namespace stretto::fabric
