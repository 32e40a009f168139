#pragma once

// What the tests of those who look after endpoints share.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/segment.h"

namespace stretto::test {

/// An endpoint of a node whose peer never hears of it: for those who look after endpoints. `progress` is what a test
/// makes of it.
class TestEndpoint : public fabric::Endpoint {
 public:
  explicit TestEndpoint(fabric::Context& context)
      : Endpoint(0, 2, context, std::make_unique<fabric::Segment>(std::size_t{1} << 20U, false)) {
    context.set_poll([](void* self) { return static_cast<TestEndpoint*>(self)->progress(); }, this);
  }

  void send(NodeId, fabric::MessageType, ConstByteSpan, ConstByteSpan) override { count_request(); }
  void put(NodeId, fabric::Offset, ConstByteSpan, fabric::Notification, fabric::Completion*) override {}
  void get(NodeId, fabric::Offset, ByteSpan, fabric::Completion*) override {}
  bool maps(NodeId) const override { return false; }
  std::byte* peer_pointer(NodeId, fabric::Offset, std::size_t) override { return nullptr; }
};

}  // namespace stretto::test
