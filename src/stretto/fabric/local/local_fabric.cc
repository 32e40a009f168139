#include "stretto/fabric/local/local_fabric.h"

namespace stretto::fabric {

LocalFabric::LocalFabric(const LocalOptions& options, Overflow* overflow) {
  Carrier& carrier = *this;
  std::vector<InProcessEndpoint*> peers;
  for (NodeId node = 0; node < options.nodes; ++node) {
    contexts_.push_back(std::make_unique<Context>(overflow));
    owned_.push_back(std::make_unique<InProcessEndpoint>(node, options.nodes, *contexts_.back(),
                                                         std::make_unique<Segment>(options.segment_bytes, false),
                                                         carrier, options.reach));
    peers.push_back(owned_.back().get());
    endpoints_.push_back(owned_.back().get());
  }
  for (InProcessEndpoint* const endpoint : peers) endpoint->connect(peers);
}

LocalFabric::~LocalFabric() = default;

void LocalFabric::carry(Parcel* parcel, std::size_t /*bytes*/) { parcel->to.context().post(parcel); }

}  // namespace stretto::fabric
