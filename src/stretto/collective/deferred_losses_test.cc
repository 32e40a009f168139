#include "stretto/collective/deferred_losses.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/core/test_support.h"

namespace stretto {
namespace {

/// What it hears of losses.
class Listener final : public fabric::EndpointObserver {
 public:
  void on_notification(NodeId, fabric::Notification) override {}
  void on_peer_lost(NodeId peer, const Error& cause) override {
    heard.push_back(std::to_string(peer) + ": " + cause.what());
  }

  std::vector<std::string> heard;
};

TEST(DeferredLosses, AreToldWhenTheCallIsOver) {
  Listener listener;
  test::run_on("sim:3", [&listener](Node& node) {
    if (node.id() != 0) return;
    fabric::Endpoint& endpoint = node.endpoint();
    endpoint.add_observer(listener);
    DeferredLosses losses(endpoint);
    endpoint.context().enter([&] {
      losses.add(2);
      losses.add(1);
      losses.add(2);
      EXPECT_TRUE(listener.heard.empty());
    });
    ASSERT_EQ(listener.heard.size(), 2U);
    EXPECT_EQ(listener.heard[0], "1: out_of_resources: no memory to tell node 1 what it waits for");
    EXPECT_TRUE(endpoint.lost(2));
  });
}

}  // namespace
}  // namespace stretto
