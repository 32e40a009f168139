#include "stretto/fabric/cluster/cluster_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "stretto/base/hash.h"
#include "stretto/base/random.h"
#include "stretto/fabric/cluster/test_node.h"

namespace stretto::fabric {
namespace {

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<std::byte> copy_of(ConstByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

ClusterOptions without_peer_pointer() {
  ClusterOptions options = TestNode::small();
  options.peer_pointer = false;
  return options;
}

TEST(ClusterFabric, AJobOfOneTalksToItself) {
  TestJob job(1);
  TestNode& node = job[0];
  EXPECT_EQ(node.fabric().name(), "cluster");
  EXPECT_EQ(node.fabric().size(), 1U);
  EXPECT_EQ(node.endpoint().self(), 0U);
  node.send(0, bytes_of(std::uint64_t{7}), bytes_of(std::uint32_t{8}));
  job.serve_until([&] { return !node.messages.empty(); });
  EXPECT_EQ(node.messages[0].from, 0U);
  EXPECT_EQ(node.messages[0].payload, copy_of(bytes_of(std::uint64_t{7})));
  EXPECT_EQ(node.messages[0].header, copy_of(bytes_of(std::uint32_t{8})));
  node.close();
}

TEST(ClusterFabric, EveryPairExchangesMessages) {
  constexpr NodeId size = 5;
  TestJob job(size);
  for (NodeId from = 0; from < size; ++from) {
    for (NodeId to = 0; to < size; ++to) job[from].send(to, bytes_of(from * 100 + to));
  }
  job.serve_until([&] {
    return std::all_of(job.nodes.begin(), job.nodes.end(), [](auto& node) { return node->messages.size() == size; });
  });
  for (NodeId to = 0; to < size; ++to) {
    std::set<NodeId> senders;
    for (const auto& message : job[to].messages) {
      senders.insert(message.from);
      EXPECT_EQ(message.payload, copy_of(bytes_of(message.from * 100 + to)));
    }
    EXPECT_EQ(senders.size(), size);
  }
}

// Small rings, no progress at the receiver for long: what finds no room waits, and arrives once.
TEST(ClusterFabric, FullRingsLoseAndRepeatNothing) {
  ClusterOptions options = TestNode::small();
  options.ring_lines = 512;
  TestJob job(3, options);
  Random random(11);
  constexpr std::uint64_t count = 3000;
  for (std::uint64_t i = 0; i < count; ++i) {
    for (NodeId from = 0; from < 3; ++from) {
      std::vector<std::byte> payload = random_bytes(random, 8 + random.below(i % 50 == 0 ? 12'000 : 400));
      std::memcpy(payload.data(), &i, sizeof(i));
      const std::uint64_t sum = fnv1a_64(payload);
      job[from].send((from + 1) % 3, payload, bytes_of(sum));
      job[from].send((from + 2) % 3, payload, bytes_of(sum));
    }
    if (random.below(400) == 0) job.serve();
  }
  job.serve_until([&] {
    return std::all_of(job.nodes.begin(), job.nodes.end(),
                       [](auto& node) { return node->messages.size() >= 2 * count; });
  });
  job.settle();
  for (auto& node : job.nodes) {
    std::set<std::pair<NodeId, std::uint64_t>> seen;
    for (const auto& message : node->messages) {
      std::uint64_t sum = 0;
      std::uint64_t index = 0;
      ASSERT_EQ(message.header.size(), sizeof(sum));
      std::memcpy(&sum, message.header.data(), sizeof(sum));
      std::memcpy(&index, message.payload.data(), sizeof(index));
      EXPECT_EQ(sum, fnv1a_64(message.payload));
      EXPECT_TRUE(seen.emplace(message.from, index).second);
    }
    EXPECT_EQ(seen.size(), 2 * count);
    EXPECT_TRUE(node->lost.empty());
  }
}

class ClusterPutGet : public testing::TestWithParam<bool> {
 protected:
  static ClusterOptions options() { return GetParam() ? TestNode::small() : without_peer_pointer(); }
};
INSTANTIATE_TEST_SUITE_P(PeerPointer, ClusterPutGet, testing::Bool(),
                         [](const auto& with) { return with.param ? "On" : "Off"; });

TEST_P(ClusterPutGet, BytesAreInPlaceWhenTheNotificationComes) {
  TestJob job(2, options());
  Random random(12);
  for (const std::size_t size : {0UL, 1UL, 8UL, 1000UL, 70'000UL, 5'000'000UL}) {
    const std::vector<std::byte> source = random_bytes(random, size);
    const std::uint64_t offset = job[1].endpoint().segment().allocate(size + 100);
    TestCompletion completion;
    job[0].with([&](Endpoint& endpoint) { endpoint.put(1, offset + 50, source, size + 5, &completion); });
    EXPECT_EQ(job[1].notifications.size(), 0U);
    job.serve_until([&] { return !job[1].notifications.empty() && completion.fired != 0; });
    EXPECT_EQ(job[1].notifications, (std::vector<std::pair<NodeId, Notification>>{{0, size + 5}}));
    job[1].notifications.clear();
    EXPECT_FALSE(completion.lost);
    EXPECT_EQ(completion.fired, 1);
    EXPECT_TRUE(std::equal(source.begin(), source.end(), job[1].endpoint().segment().pointer(offset + 50)));

    std::vector<std::byte> destination(size);
    TestCompletion got;
    job[0].with([&](Endpoint& endpoint) { endpoint.get(1, offset + 50, destination, &got); });
    job.serve_until([&] { return got.fired != 0; });
    EXPECT_FALSE(got.lost);
    EXPECT_EQ(destination, source);
  }
  EXPECT_TRUE(job[0].lost.empty());
  EXPECT_TRUE(job[1].lost.empty());
}

TEST_P(ClusterPutGet, ANodeReachesItsOwnSegment) {
  TestJob job(1, options());
  const std::uint64_t offset = job[0].endpoint().segment().allocate(64);
  const std::uint64_t source = 99;
  std::uint64_t destination = 0;
  TestCompletion put;
  TestCompletion got;
  job[0].with([&](Endpoint& endpoint) {
    endpoint.put(0, offset, bytes_of(source), 3, &put);
    endpoint.get(0, offset, writable_bytes_of(destination), &got);
    EXPECT_EQ(put.fired + got.fired, 0) << "a completion fires after the call, not in it";
  });
  job.settle();
  EXPECT_EQ(destination, 99U);
  EXPECT_EQ(put.fired + got.fired, 2);
  EXPECT_EQ(job[0].notifications.size(), 1U);
}

TEST_P(ClusterPutGet, LargeVolumesPassBothWaysAtOnce) {
  TestJob job(2, options());
  Random random(13);
  constexpr std::size_t size = std::size_t{6} << 20U;
  std::vector<std::vector<std::byte>> sources;
  std::vector<std::uint64_t> offsets;
  std::vector<std::vector<std::byte>> fetched(2, std::vector<std::byte>(size));
  std::vector<TestCompletion> puts(2);
  std::vector<TestCompletion> gets(2);
  for (NodeId node = 0; node < 2; ++node) {
    sources.push_back(random_bytes(random, size));
    offsets.push_back(job[node].endpoint().segment().allocate(2 * size));
    std::memcpy(job[node].endpoint().segment().pointer(offsets[node] + size), sources[node].data(), size);
  }
  for (NodeId node = 0; node < 2; ++node) {
    const NodeId other = 1 - node;
    job[node].with([&](Endpoint& endpoint) {
      endpoint.put(other, offsets[other], sources[node], 1, &puts[node]);
      endpoint.get(other, offsets[other] + size, fetched[node], &gets[node]);
    });
    for (std::uint64_t i = 0; i < 100; ++i) job[node].send(other, bytes_of(i));
  }
  job.serve_until([&] {
    return gets[0].fired + gets[1].fired + puts[0].fired + puts[1].fired == 4 && job[0].messages.size() == 100 &&
           job[1].messages.size() == 100 && job[0].notifications.size() + job[1].notifications.size() == 2;
  });
  for (NodeId node = 0; node < 2; ++node) {
    const NodeId other = 1 - node;
    EXPECT_EQ(fetched[node], sources[other]);
    EXPECT_EQ(std::memcmp(job[other].endpoint().segment().pointer(offsets[other]), sources[node].data(), size), 0);
  }
}

TEST_P(ClusterPutGet, ARangeOutsideOfTheSegmentCostsTheConnection) {
  const std::vector<std::byte> source(4096);
  const std::uint64_t capacity = options().segment_bytes;
  for (const Offset offset : {Offset{1} << 30U, ~Offset{0} - 100, capacity - 1, Offset{2} << 20U}) {
    for (const bool is_put : {true, false}) {
      TestJob job(2, options());
      job[1].endpoint().segment().allocate(100);  // one piece of memory is handed out
      TestCompletion completion;
      std::vector<std::byte> destination(4096);
      job[0].with([&](Endpoint& endpoint) {
        if (is_put) {
          endpoint.put(1, offset, source, 1, nullptr);
        } else {
          endpoint.get(1, offset, destination, &completion);
        }
      });
      job.settle();
      ASSERT_TRUE(job[1].lost.contains(0));
      EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input);
      EXPECT_NE(job[1].lost.at(0).message().find(std::to_string(offset)), std::string::npos);
      ASSERT_TRUE(job[0].lost.contains(1));
      EXPECT_EQ(job[0].lost.at(1).code(), ErrorCode::peer_lost);
      EXPECT_TRUE(job[1].notifications.empty());
      if (!is_put) {
        EXPECT_EQ(completion.fired, 1);
        EXPECT_TRUE(completion.lost);
      }
    }
  }
}

TEST(ClusterFabric, PeerPointerShowsThePeersMemory) {
  TestJob job(2);
  const std::uint64_t offset = job[1].endpoint().segment().allocate(4096);
  std::byte* const mapped = job[0].endpoint().peer_pointer(1, offset, 4096);
  ASSERT_NE(mapped, nullptr);
  std::byte* const original = job[1].endpoint().segment().pointer(offset);
  EXPECT_NE(mapped, original);
  *original = std::byte{42};
  EXPECT_EQ(*mapped, std::byte{42});
  // What is not backed by memory would be a signal at first touch.
  const std::uint64_t capacity = TestNode::small().segment_bytes;
  for (const NodeId peer : {0U, 1U}) {
    EXPECT_EQ(job[0].endpoint().peer_pointer(peer, capacity - 1, 1), nullptr);
    EXPECT_EQ(job[0].endpoint().peer_pointer(peer, capacity, 1), nullptr);
    EXPECT_EQ(job[0].endpoint().peer_pointer(peer, offset, capacity), nullptr);
  }
  TestJob off(2, without_peer_pointer());
  EXPECT_EQ(off[0].endpoint().peer_pointer(1, off[1].endpoint().segment().allocate(64), 64), nullptr);
}

TEST(ClusterFabric, AUsedUpSegmentIsANamedError) {
  TestJob job(1);
  Segment& segment = job[0].endpoint().segment();
  const std::uint64_t most = segment.allocate(TestNode::small().segment_bytes - (std::size_t{2} << 20U));
  try {
    segment.allocate(std::size_t{8} << 20U);
    FAIL() << "more than there is was handed out";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
  }
  segment.release(most);
  segment.allocate(std::size_t{8} << 20U);
}

TEST(ClusterFabric, AMessageThatItsHandlerRefusesCostsTheConnection) {
  TestJob job(3);
  job[1].when_message = [](const Message&) { throw Error(ErrorCode::bad_input, "not now"); };
  TestCompletion completion;
  job[0].send(1, bytes_of(std::uint64_t{1}));
  job[0].send(1, bytes_of(std::uint64_t{2}));
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 1U) << "nothing is heard of a lost peer";
  EXPECT_EQ(job[1].lost.at(0).message(), "not now");
  EXPECT_EQ(job[0].lost.at(1).code(), ErrorCode::peer_lost);
  EXPECT_TRUE(job[2].lost.empty());
  job[0].send(1, bytes_of(std::uint64_t{3}));
  job[0].with([&](Endpoint& endpoint) { endpoint.put(1, 0, {}, 1, &completion); });
  job[2].send(0, bytes_of(std::uint64_t{4}));
  job.settle();
  EXPECT_TRUE(completion.fired == 1 && completion.lost);
  EXPECT_EQ(job[0].messages.size(), 1U) << "the others are reached as before";
}

TEST(ClusterFabric, AMessageForWhichThereIsNoMemoryCostsTheConnection) {
  TestJob job(2);
  job[1].when_message = [](const Message&) { throw std::bad_alloc(); };
  job[0].send(1, bytes_of(1));
  job.settle();
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::out_of_resources);
}

// Who looked for a message may find no memory for what it is to do with it.
TEST(ClusterFabric, WhoThrowsAtAMessageThatWasLookedForHearsOfTheNext) {
  TestJob job(2);
  struct Thrower final : MessageHandler {
    void on_message(const Message&) override { throw std::bad_alloc(); }
  } thrower;
  for (const std::uint64_t value : {1UL, 2UL}) job[0].send(1, bytes_of(value));
  EXPECT_THROW(job[1].with([&](Endpoint& endpoint) { endpoint.receive_from(0, {.bytes = 8}, thrower); }),
               std::bad_alloc);
  EXPECT_TRUE(job[1].messages.empty());
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 1U);
}

TEST(ClusterFabric, AnUnknownTypeCostsTheConnection) {
  TestJob job(2);
  job[0].with([](Endpoint& endpoint) { endpoint.send(1, MessageType::task_spawn, {}, {}); });
  job.settle();
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input);
}

TEST(ClusterFabric, TooLargeAMessageIsMisuse) {
  TestJob job(2);
  const std::vector<std::byte> bytes(max_message_bytes + 1);
  EXPECT_THROW(job[0].send(1, bytes), Error);
  EXPECT_THROW(job[0].send(1, {}, ConstByteSpan(bytes).first(max_header_bytes + 1)), Error);
  EXPECT_THROW(job[0].send(2, {}), Error);
}

TEST(ClusterFabric, WhoClosesIsNotLost) {
  TestJob job(3);
  for (std::uint64_t i = 0; i < 1500; ++i) job[0].send(1, bytes_of(i));  // more than the ring holds
  std::thread closer([&] { job[0].close(); });
  job.serve_until([&] { return job[1].messages.size() == 1500; });
  closer.join();
  job.nodes[0].reset();
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 1500U) << "what was sent before the goodbye arrives";
  EXPECT_TRUE(job[1].lost.empty());
  EXPECT_TRUE(job[2].lost.empty());
  // Operations towards it are dropped.
  TestCompletion completion;
  job[1].send(0, bytes_of(std::uint64_t{1}));
  job[1].with([&](Endpoint& endpoint) { endpoint.put(0, 0, {}, 1, &completion); });
  job.settle();
  EXPECT_TRUE(completion.fired == 1 && completion.lost);
  job[1].send(2, bytes_of(std::uint64_t{2}));
  job.settle();
  EXPECT_EQ(job[2].messages.size(), 1U);
  job[1].close();
  job[2].close();
}

TEST(ClusterFabric, ClosingCallsNobodyBack) {
  TestJob job(2, without_peer_pointer());
  std::vector<std::byte> destination(100'000);
  TestCompletion completion;
  job[1].endpoint().segment().allocate(100'000);
  job[0].with([&](Endpoint& endpoint) { endpoint.get(1, 0, destination, &completion); });
  job[1].serve();  // the answer is under way
  job[1].send(0, bytes_of(std::uint64_t{1}));
  job[0].close();
  job[1].close();
  EXPECT_TRUE(job[0].messages.empty());
  EXPECT_EQ(completion.fired, 0);
  EXPECT_TRUE(job[0].lost.empty() && job[1].lost.empty());
}

TEST(ClusterFabric, WhoEndsWithoutClosingIsLostAfterItsLastWords) {
  TestJob job(3);
  job[0].send(1, bytes_of(std::uint64_t{5}));
  job.nodes[0].reset();
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 1U);
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::peer_lost);
  EXPECT_EQ(job[2].lost.at(0).code(), ErrorCode::peer_lost);
}

// It may be in the middle of a copy, until it hears of its loss and lets go.
TEST(ClusterFabric, ALostPeerThatLivesLingersUntilItHearsOfIt) {
  TestJob job(3);
  job[0].with([](Endpoint& endpoint) { endpoint.lose(1, Error(ErrorCode::bad_input, "on purpose")); });
  EXPECT_TRUE(job[0].lost.contains(1));
  EXPECT_TRUE(job[0].endpoint().may_linger(1));
  for (int i = 0; i < 100; ++i) job[0].serve();
  EXPECT_TRUE(job[0].endpoint().may_linger(1));
  job.serve_until([&] { return job[0].ended.contains(1); });
  EXPECT_TRUE(job[1].lost.contains(0));
  EXPECT_FALSE(job[0].endpoint().may_linger(1));

  job.nodes[2] = nullptr;
  job.serve_until([&] { return job[0].lost.contains(2); });
  EXPECT_FALSE(job[0].endpoint().may_linger(2));
  EXPECT_FALSE(job[0].ended.contains(2));
}

TEST(ClusterFabric, OptionsAreChecked) {
  ClusterOptions options = TestNode::small();
  for (const std::uint32_t lines : {0U, 100U, 256U, 1000U, 1U << 21U}) {
    options.ring_lines = lines;
    EXPECT_THROW(make_cluster_fabric(std::move(make_in_process_job(1)[0]), options, nullptr), Error) << lines;
  }
}

TEST(ClusterFabric, NodesOfDifferentTuningAreAllToldSo) {
  for (const NodeId odd_one : {0U, 2U}) {
    std::vector<std::unique_ptr<Bootstrap>> bootstraps = make_in_process_job(3);
    std::vector<std::string> complaints(3);
    std::vector<std::thread> starters;
    for (NodeId node = 0; node < 3; ++node) {
      starters.emplace_back([&complaints, node, odd_one, bootstrap = std::move(bootstraps[node])]() mutable {
        ClusterOptions options = TestNode::small();
        options.tuning_digest = node == odd_one ? 2 : 1;
        try {
          make_cluster_fabric(std::move(bootstrap), options, nullptr);
        } catch (const Error& error) {
          if (error.code() == ErrorCode::mismatch) complaints[node] = error.message();
        }
      });
    }
    for (std::thread& starter : starters) starter.join();
    for (const std::string& complaint : complaints) {
      EXPECT_NE(complaint.find("STRETTO_TUNING"), std::string::npos) << complaint;
    }
  }
}

}  // namespace
}  // namespace stretto::fabric
