#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/fabric/fabric.h"
#include "stretto/fabric/local/in_process_endpoint.h"

namespace stretto::fabric {

struct LocalOptions {
  std::uint32_t nodes = 1;
  Reach reach = Reach::everything;
  std::size_t segment_bytes = std::size_t{64} << 30U;
};

/// `local:N`: nodes as objects in one process, in real time. Has no threads: a message is handled by the thread
/// that sent it, right after it leaves its own node's context.
class LocalFabric final : public Fabric, private Carrier {
 public:
  /// `overflow` outlives the fabric; may be null only where one thread runs all nodes.
  LocalFabric(const LocalOptions& options, Overflow* overflow);
  ~LocalFabric() override;

  std::string_view name() const override { return "local"; }
  std::span<Endpoint* const> endpoints() override { return endpoints_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(endpoints_.size()); }
  std::string host_of(NodeId) const override { return "local"; }

 private:
  void carry(Parcel* parcel, std::size_t bytes) override;

  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::unique_ptr<InProcessEndpoint>> owned_;
  std::vector<Endpoint*> endpoints_;
};

}  // namespace stretto::fabric
