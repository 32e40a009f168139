#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/fabric/conformance.h"
#include "stretto/fabric/conformance_kinds.h"

namespace stretto::fabric::conformance {

using Bytes = std::vector<std::byte>;

/// A test on each kind of fabric.
class FabricConformance : public testing::TestWithParam<Kind> {
 protected:
  static constexpr std::size_t usual_segment_bytes = std::size_t{64} << 20U;

  void start(std::uint32_t nodes, std::size_t segment_bytes = usual_segment_bytes) {
    job_ = GetParam().make(nodes, segment_bytes);
    for (Endpoint* const endpoint : job_->endpoints()) recorders_.push_back(std::make_unique<Recorder>(*endpoint));
  }

  std::uint32_t size() { return static_cast<std::uint32_t>(job_->endpoints().size()); }
  Endpoint& endpoint(NodeId node) { return *job_->endpoints()[node]; }

  // Runs `function(endpoint, recorder)` under the node's baton; returns what it returns.
  template <class Function>
  auto at(NodeId node, Function function) {
    using Result = std::invoke_result_t<Function, Endpoint&, Recorder&>;
    if constexpr (std::is_void_v<Result>) {
      endpoint(node).context().enter([&] { function(endpoint(node), *recorders_[node]); });
    } else {
      Result result{};
      endpoint(node).context().enter([&] { result = function(endpoint(node), *recorders_[node]); });
      return result;
    }
  }

  void send(NodeId from, NodeId to, const Bytes& header, const Bytes& payload) {
    at(from, [&](Endpoint& e, Recorder&) { e.send(to, MessageType::test, header, payload); });
  }
  std::size_t received(NodeId node) {
    return at(node, [](Endpoint&, Recorder& r) { return r.messages.size(); });
  }
  std::size_t notified(NodeId node) {
    return at(node, [](Endpoint&, Recorder& r) { return r.notifications.size(); });
  }
  // How often `node` heard that it lost `peer`.
  std::size_t losses(NodeId node, NodeId peer) {
    return at(node, [&](Endpoint&, Recorder& r) { return r.lost.count(peer); });
  }
  std::string loss_text(NodeId node, NodeId peer) {
    return at(node, [&](Endpoint&, Recorder& r) {
      const auto found = r.lost.find(peer);
      return found == r.lost.end() ? std::string("not lost") : std::string(found->second.what());
    });
  }

  template <class Done>
  [[nodiscard]] bool drive_until(Done done) {
    while (!done()) {
      if (!job_->step()) return done();
    }
    return true;
  }

  // A round trip to everybody, so that what must not come had every chance to.
  void settle() {
    for (NodeId from = 0; from < size(); ++from) {
      for (NodeId to = 0; to < size(); ++to) {
        if (at(from, [&](Endpoint& e, Recorder&) { return e.lost(to); }) ||
            at(to, [&](Endpoint& e, Recorder&) { return e.lost(from); })) {
          continue;
        }
        const std::size_t before = received(to);
        send(from, to, {}, {});
        ASSERT_TRUE(drive_until([&] { return received(to) > before; }));
        at(to, [](Endpoint&, Recorder& r) { r.messages.pop_back(); });
      }
    }
  }

  // Both sides of the connection hear of its end, once; nobody else does.
  void expect_only_these_lost_each_other(NodeId a, NodeId b) {
    ASSERT_TRUE(drive_until([&] { return losses(a, b) > 0 && losses(b, a) > 0; }));
    settle();
    for (NodeId node = 0; node < size(); ++node) {
      for (NodeId peer = 0; peer < size(); ++peer) {
        const bool expected = (node == a && peer == b) || (node == b && peer == a);
        EXPECT_EQ(losses(node, peer), expected ? 1U : 0U) << node << " of " << peer << ": " << loss_text(node, peer);
        EXPECT_EQ(at(node, [&](Endpoint& e, Recorder&) { return e.lost(peer); }), expected);
      }
    }
  }

  std::unique_ptr<Job> job_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
};

}  // namespace stretto::fabric::conformance
