#include "stretto/fabric/bulk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/conformance.h"
#include "stretto/fabric/local/local_fabric.h"

// What every fabric must do with bulk messages is in conformance_test.cc; here are peers that lie.
namespace stretto::fabric {
namespace {

using conformance::Recorder;

// As Bulk writes it.
struct Offer {
  std::uint64_t offset;
  std::uint64_t payload_bytes;
  std::uint32_t header_bytes;
  MessageType type;
};

class BulkTest : public testing::Test {
 protected:
  Endpoint& endpoint(NodeId node) { return *fabric_.endpoints()[node]; }

  template <class Header>
  void forge(MessageType type, const Header& header) {
    endpoint(1).context().enter([&] { endpoint(1).send(0, type, bytes_of(header), {}); });
  }
  std::string what_node_0_says_of_node_1() {
    const auto found = recorder_.lost.find(1);
    return found == recorder_.lost.end() ? "nothing" : found->second.what();
  }

  LocalFabric fabric_{{.nodes = 2, .reach = Reach::messages, .segment_bytes = std::size_t{16} << 20U}, nullptr};
  Recorder recorder_{endpoint(0)};
  Recorder sender_recorder_{endpoint(1)};
  Bulk bulk_{endpoint(0)};
  Bulk sender_bulk_{endpoint(1)};

  void SetUp() override { bulk_.set_handler(MessageType::test, recorder_); }
};

TEST_F(BulkTest, AnOfferOfAnUnknownTypeIsRefused) {
  forge(MessageType::bulk_offer, Offer{0, 20'000, 0, static_cast<MessageType>(33)});
  EXPECT_NE(what_node_0_says_of_node_1().find("bad_input: node 1 offers a message that cannot be: type 33"),
            std::string::npos)
      << what_node_0_says_of_node_1();
}

TEST_F(BulkTest, AnOfferBeyondAllReasonIsRefusedBeforeAnythingIsAllocated) {
  forge(MessageType::bulk_offer, Offer{0, ~std::uint64_t{0}, 0, MessageType::test});
  EXPECT_NE(what_node_0_says_of_node_1().find("bad_input"), std::string::npos) << what_node_0_says_of_node_1();
}

TEST_F(BulkTest, AnOfferOfMemoryOutsideOfTheSegmentBringsNothing) {
  forge(MessageType::bulk_offer, Offer{std::uint64_t{1} << 40U, 20'000, 0, MessageType::test});
  EXPECT_NE(what_node_0_says_of_node_1(), "nothing");
  EXPECT_TRUE(recorder_.messages.empty());
}

TEST_F(BulkTest, ThanksForWhatWasNeverOfferedAreRefused) {
  forge(MessageType::bulk_fetched, Offset{640});
  EXPECT_NE(what_node_0_says_of_node_1().find("which it was not offered"), std::string::npos)
      << what_node_0_says_of_node_1();
}

// Random bytes in place of an offer: whatever happens, node 0 lives and can say what was wrong.
TEST_F(BulkTest, RandomOffersAreHarmless) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    LocalFabric fabric({.nodes = 2, .reach = Reach::messages, .segment_bytes = std::size_t{1} << 20U}, nullptr);
    Endpoint& victim = *fabric.endpoints()[0];
    Endpoint& liar = *fabric.endpoints()[1];
    Recorder recorder(victim);
    Bulk bulk(victim);
    bulk.set_handler(MessageType::test, recorder);
    Random random(seed);
    Offer offer{random() >> random.below(64), random() >> (44 + random.below(20)),
                static_cast<std::uint32_t>(random() >> (32 + random.below(32))),
                static_cast<MessageType>(random.below(70))};
    if (random.below(2) == 0) offer.type = MessageType::test;
    const auto bytes = conformance::random_bytes(random, random.below(40));
    liar.context().enter([&] {
      liar.send(0, MessageType::bulk_offer, bytes_of(offer), {});
      liar.send(0, MessageType::bulk_fetched, bytes, {});
    });
    EXPECT_EQ(recorder.lost.size(), 1U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stretto::fabric
