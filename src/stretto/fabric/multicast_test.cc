#include "stretto/fabric/multicast.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "stretto/fabric/conformance.h"
#include "stretto/fabric/conformance_kinds.h"

namespace stretto::fabric::conformance {
namespace {

class FabricMulticast : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Fabrics, FabricMulticast, testing::ValuesIn(kinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

// Where a fabric has a way to reach several at once, all of them get what is sent, once, and nobody else does.
TEST_P(FabricMulticast, ReachesEachOnce) {
  const std::unique_ptr<Job> job = GetParam().make(4, std::size_t{64} << 20U);
  std::vector<std::unique_ptr<Recorder>> recorders;
  for (Endpoint* const endpoint : job->endpoints()) recorders.push_back(std::make_unique<Recorder>(*endpoint));
  Endpoint& sender = *job->endpoints()[1];
  const std::vector<NodeId> peers{2, 0, 3};
  std::shared_ptr<Multicast> to;
  sender.context().enter([&] { to = sender.multicast_to(peers); });
  if (to == nullptr) return;
  constexpr std::size_t count = 200;
  Random random(9);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::vector<std::byte> payload = random_bytes(random, random.below(300));
    sender.context().enter([&] { sender.send_to_all(*to, MessageType::test, bytes_of(i), payload); });
  }
  const auto received_at = [&](NodeId node) {
    std::size_t received = 0;
    job->endpoints()[node]->context().enter([&] { received = recorders[node]->messages.size(); });
    return received;
  };
  for (const NodeId peer : peers) {
    while (received_at(peer) < count) ASSERT_TRUE(job->step());
  }
  for (const NodeId peer : peers) {
    std::set<std::vector<std::byte>> headers;
    for (const auto& message : recorders[peer]->messages) headers.insert(message.header);
    EXPECT_EQ(headers.size(), count);
    EXPECT_EQ(received_at(peer), count);
  }
  EXPECT_EQ(received_at(1), 0U);
  sender.context().enter([&] { to.reset(); });
}

}  // namespace
}  // namespace stretto::fabric::conformance
