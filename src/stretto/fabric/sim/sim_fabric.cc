#include "stretto/fabric/sim/sim_fabric.h"

#include <memory>
#include <utility>

namespace stretto::fabric {

namespace {

// What an action is, for the trace: kind, two nodes.
enum class Kind : std::uint64_t { reach = 1, land, handle, death, obituary, look };

std::uint64_t label(Kind kind, NodeId from, NodeId to) {
  return static_cast<std::uint64_t>(kind) << 56U | std::uint64_t{from} << 16U | to;
}

struct DiscardParcel {
  void operator()(Parcel* parcel) const noexcept { parcel->discard(parcel); }
};
using OwnedParcel = std::unique_ptr<Parcel, DiscardParcel>;

}  // namespace

// A parcel under way, until its target has looked for it; discarded if it never arrives.
class SimFabric::Flight : public Action {
 public:
  Flight(SimFabric& owner, OwnedParcel parcel, std::size_t bytes)
      : fabric_(owner), parcel_(std::move(parcel)), way_(parcel_->from.self(), parcel_->to.self()), bytes_(bytes) {
    if (fabric_.looks()) fabric_.flights_[way_].push_back(this);
  }
  ~Flight() override {
    if (parcel_ != nullptr) take();
  }
  OwnedParcel take() noexcept {
    if (fabric_.looks()) std::erase(fabric_.flights_[way_], this);
    return std::move(parcel_);
  }

 protected:
  template <class Next>
  void go_on(VirtualTime time, Kind kind) {
    const auto [from, to] = way_;
    fabric_.timeline_.at(time, std::make_unique<Next>(fabric_, take(), bytes_), label(kind, from, to));
  }

  SimFabric& fabric_;
  OwnedParcel parcel_;
  std::pair<NodeId, NodeId> way_;  // what never arrives goes after the endpoints have
  std::size_t bytes_;
};

// The receiver has dealt with the parcel: its handler runs.
class SimFabric::Handling final : public Flight {
 public:
  using Flight::Flight;
  void run() override {
    if (parcel_ == nullptr) return;
    InProcessEndpoint& to = parcel_->to;
    if (fabric_.alive(to.self())) to.context().post(take().release());
  }
};

// All of the parcel is there.
class SimFabric::Landing final : public Flight {
 public:
  using Flight::Flight;
  void run() override {
    if (parcel_ == nullptr) return;
    go_on<Handling>(fabric_.network_.handle(way_.first, way_.second, fabric_.timeline_.now()), Kind::handle);
  }
};

// The parcel is at its target's host.
class SimFabric::Reaching final : public Flight {
 public:
  using Flight::Flight;
  void run() override {
    if (parcel_ == nullptr) return;
    go_on<Landing>(fabric_.network_.land(way_.first, way_.second, bytes_, fabric_.timeline_.now()), Kind::land);
  }
};

class SimFabric::Death final : public Action {
 public:
  Death(SimFabric& fabric, NodeId node) noexcept : fabric_(fabric), node_(node) {}
  void run() override { fabric_.kill(node_); }

 private:
  SimFabric& fabric_;
  NodeId node_;
};

// Tells one survivor.
class SimFabric::Obituary final : public Action {
 public:
  Obituary(SimFabric& fabric, NodeId dead, NodeId told) noexcept : fabric_(fabric), dead_(dead), told_(told) {}
  void run() override {
    if (!fabric_.alive(told_)) return;
    Endpoint& endpoint = *fabric_.endpoints_[told_];
    endpoint.context().enter(
        [&] { endpoint.lose(dead_, Error(ErrorCode::peer_lost, "node " + std::to_string(dead_) + " was killed")); });
  }

 private:
  SimFabric& fabric_;
  NodeId dead_;
  NodeId told_;
};

SimFabric::SimFabric(const SimOptions& options)
    : options_(options),
      timeline_(options.seed),
      network_(options),
      looks_random_(options.seed ^ 0x6c6f6f6bU),
      alive_(options.nodes, true) {
  Carrier& carrier = *this;
  std::vector<InProcessEndpoint*> peers;
  for (NodeId node = 0; node < options.nodes; ++node) {
    contexts_.push_back(std::make_unique<Context>(nullptr));
    owned_.push_back(std::make_unique<InProcessEndpoint>(node, options.nodes, *contexts_.back(),
                                                         std::make_unique<Segment>(options.segment_bytes, false),
                                                         carrier, options.reach));
    peers.push_back(owned_.back().get());
    endpoints_.push_back(owned_.back().get());
  }
  for (InProcessEndpoint* const endpoint : peers) endpoint->connect(peers);
  for (const KillFault& fault : options.kills) {
    if (fault.seconds >= 0) {
      timeline_.at(to_virtual(fault.seconds), std::make_unique<Death>(*this, fault.node),
                   label(Kind::death, fault.node, 0));
    }
  }
}

SimFabric::~SimFabric() = default;

void SimFabric::kill(NodeId node) {
  if (!alive_[node]) return;
  alive_[node] = false;
  const VirtualTime told = timeline_.now() + to_virtual(options_.detection);
  for (NodeId survivor = 0; survivor < options_.nodes; ++survivor) {
    if (alive_[survivor]) {
      timeline_.at(told, std::make_unique<Obituary>(*this, node, survivor), label(Kind::obituary, node, survivor));
    }
  }
  if (kill_listener_) kill_listener_(node);
}

void SimFabric::carry(Parcel* parcel, std::size_t bytes) {
  launch(parcel, bytes, [&](NodeId from, NodeId to) { return network_.reach(from, to, bytes, timeline_.now()); });
}

void SimFabric::carry_along(Parcel* parcel, std::size_t bytes) {
  launch(parcel, bytes, [&](NodeId from, NodeId to) { return network_.reach_along(from, to, bytes, timeline_.now()); });
}

template <class WhenItReaches>
void SimFabric::launch(Parcel* parcel, std::size_t bytes, const WhenItReaches& when_it_reaches) {
  OwnedParcel owned(parcel);
  const NodeId from = parcel->from.self();
  const NodeId to = parcel->to.self();
  if (from != to) {
    const std::uint64_t index = messages_++;
    for (const KillFault& fault : options_.kills) {
      if (fault.message == index) kill(fault.node);
    }
    timeline_.trace(bytes);
  }
  if (!alive_[from] || !alive_[to]) return;
  timeline_.at(when_it_reaches(from, to), std::make_unique<Reaching>(*this, std::move(owned), bytes),
               label(Kind::reach, from, to));
}

Parcel* SimFabric::look_for(NodeId from, NodeId to) {
  if (looks_random_.unit() >= options_.early) return nullptr;
  const std::vector<Flight*>& flights = flights_[{from, to}];
  if (flights.empty()) return nullptr;
  timeline_.trace(label(Kind::look, from, to));
  return flights[looks_random_.below(flights.size())]->take().release();
}

}  // namespace stretto::fabric
