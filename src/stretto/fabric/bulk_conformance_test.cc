#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "stretto/fabric/bulk.h"
#include "stretto/fabric/conformance_fixture.h"

namespace stretto::fabric::conformance {
namespace {

class FabricBulk : public FabricConformance {
 protected:
  void start_bulk(std::uint32_t nodes, std::size_t segment_bytes = usual_segment_bytes) {
    start(nodes, segment_bytes);
    for (NodeId node = 0; node < nodes; ++node) {
      bulks_.push_back(std::make_unique<Bulk>(endpoint(node)));
      bulks_.back()->set_handler(MessageType::test, *recorders_[node]);
    }
  }
  void send_bulk(NodeId from, NodeId to, const Bytes& header, const Bytes& payload) {
    at(from, [&](Endpoint&, Recorder&) { bulks_[from]->send(to, MessageType::test, header, payload); });
  }

  std::vector<std::unique_ptr<Bulk>> bulks_;
};

INSTANTIATE_TEST_SUITE_P(Fabrics, FabricBulk, testing::ValuesIn(kinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(FabricBulk, PayloadsOfAnySizeArriveWholeAndAreFreed) {
  start_bulk(3);
  Random random(6);
  for (const std::size_t bytes : {0U, 1U, 16'000U, 16'384U, 16'385U, 100'000U, 1U << 20U, 8U << 20U}) {
    const Bytes header = random_bytes(random, 20);
    const Bytes payload = random_bytes(random, bytes);
    for (const auto& [from, to] : {std::pair<NodeId, NodeId>{0, 1}, {1, 2}, {2, 2}}) {
      const std::size_t before = received(to);
      send_bulk(from, to, header, payload);
      ASSERT_TRUE(drive_until([&] { return received(to) > before; }));
      const auto& message = recorders_[to]->messages.back();
      EXPECT_EQ(message.from, from);
      EXPECT_EQ(message.header, header);
      EXPECT_TRUE(message.payload == payload);
    }
  }
  settle();
  ASSERT_TRUE(drive_until([&] {
    std::size_t in_use = 0;
    for (NodeId node = 0; node < size(); ++node) in_use += endpoint(node).segment().bytes_in_use();
    return in_use == 0;
  }));
}

TEST_P(FabricBulk, AFullSegmentIsANamedErrorAndHarmsNothing) {
  start_bulk(2, std::size_t{4} << 20U);
  const Offset most = endpoint(0).segment().allocate(3U << 20U);
  try {
    send_bulk(0, 1, {}, Bytes(2U << 20U));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
    EXPECT_NE(error.message().find("STRETTO_SEGMENT_BYTES"), std::string::npos) << error.what();
  }
  settle();
  EXPECT_EQ(received(1), 0U);
  endpoint(0).segment().release(most);
  send_bulk(0, 1, {}, Bytes(2U << 20U));
  ASSERT_TRUE(drive_until([&] { return received(1) == 1; }));
}

// When it has heard of its loss, if it lives.
TEST_P(FabricBulk, ALostPeersPayloadsAreFreed) {
  start_bulk(3);
  at(0, [&](Endpoint& e, Recorder&) {
    for (int i = 0; i < 5; ++i) bulks_[0]->send(1, MessageType::test, {}, Bytes(100'000));
    e.lose(1, Error(ErrorCode::peer_lost, "said the test"));
    bulks_[0]->send(1, MessageType::test, {}, Bytes(100'000));
  });
  EXPECT_TRUE(drive_until([&] { return endpoint(0).segment().bytes_in_use() == 0; }));
  expect_only_these_lost_each_other(0, 1);
}

}  // namespace
}  // namespace stretto::fabric::conformance
