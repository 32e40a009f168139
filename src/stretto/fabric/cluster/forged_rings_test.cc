// What a peer writes to a ring may be anything, or half of it.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/cluster/host/control.h"
#include "stretto/fabric/cluster/test_node.h"
#include "stretto/fabric/multicast.h"

namespace stretto::fabric {
namespace {

// The memory that a node's rings are in, found as a peer's debugger would find it.
std::vector<std::span<cluster::RingLine>> rings_of_this_process(const cluster::ControlLayout& layout) {
  std::vector<std::span<cluster::RingLine>> rings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("stretto-control") == std::string::npos || line.find("rw-s") == std::string::npos) continue;
    std::istringstream fields(line);
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    fields >> std::hex >> first >> dash >> end;
    if (end - first < layout.bytes()) continue;  // a peer's shared page
    const std::uintptr_t address = first + layout.rings_at();
    auto* const lines = reinterpret_cast<cluster::RingLine*>(address);  // NOLINT(performance-no-int-to-ptr)
    rings.emplace_back(lines, layout.lines());
  }
  return rings;
}

cluster::ControlLayout layout_of_two() { return {2, TestNode::small().ring_lines}; }

// Node 0's, in a job of 2.
const cluster::RingPlace to_node_1 = layout_of_two().short_ring_to(1);
const cluster::RingPlace long_to_node_0 = layout_of_two().ring_to(0);
const cluster::RingPlace long_to_node_1 = layout_of_two().ring_to(1);
const cluster::RingPlace first_multicast = layout_of_two().multicast_ring(0);

// Calls `visit` with the lines of a ring of node 0, in a job of 2 where node 1 has sent nothing.
template <class Visit>
void for_each_ring_of_node_0(const cluster::RingPlace& ring, Visit&& visit) {
  for (const std::span<cluster::RingLine> lines : rings_of_this_process(layout_of_two())) {
    if (lines[to_node_1.first].word.load() == 0) continue;  // node 1's own memory
    visit(lines.subspan(ring.first, ring.lines));
  }
}

// Writes the first line of a message of the transport's own kind there, at that position.
void forge_in(const cluster::RingPlace& ring, cluster::OwnKind kind, ConstByteSpan header, std::size_t payload_bytes,
              std::uint64_t position = 1) {
  for_each_ring_of_node_0(ring, [&](std::span<cluster::RingLine> lines) {
    copy_bytes(lines[position].bytes, header);
    const cluster::LineHead head{static_cast<std::uint8_t>(kind), static_cast<std::uint16_t>(header.size()),
                                 static_cast<std::uint16_t>(payload_bytes)};
    lines[position].word.store(cluster::encode_word(head, position));
  });
}

// The same in the ring to node 1, as its second message.
template <class Header>
void forge(cluster::OwnKind kind, const Header& header, std::size_t payload_bytes) {
  forge_in(to_node_1, kind, bytes_of(header), payload_bytes);
}

TEST(ForgedRings, PiecesThatFitNowhereAreRefused) {
  using cluster::GetPieceHeader;
  using cluster::GetRequestHeader;
  using cluster::MulticastHeader;
  using cluster::OwnKind;
  using cluster::PutPieceHeader;
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  const std::vector<std::function<void()>> forgeries = {
      [] { forge(OwnKind::put_piece, PutPieceHeader{0, 10, 5, 1}, 6); },
      [] { forge(OwnKind::put_piece, PutPieceHeader{0, 10, 11, 1}, 0); },
      [] { forge(OwnKind::put_piece, PutPieceHeader{0, 10, huge - 2, 1}, 8); },
      [] { forge(OwnKind::put_piece, PutPieceHeader{huge, 10, 0, 1}, 8); },
      [] { forge(OwnKind::put_piece, PutPieceHeader{16, huge, 0, 1}, 8); },
      [] { forge(OwnKind::get_request, GetRequestHeader{huge - 4, 8, 1}, 0); },
      [] { forge(OwnKind::get_request, GetRequestHeader{8, huge - 4, 1}, 0); },
      [] { forge(OwnKind::get_piece, GetPieceHeader{0, 0}, 8); },
      [] { forge(OwnKind::get_piece, GetPieceHeader{1, 0}, 8); },
      [] { forge(OwnKind::multicast_begin, MulticastHeader{cluster::multicast_rings, 0}, 0); },
      [] { forge(OwnKind::multicast_begin, MulticastHeader{huge, 0}, 0); },
      [] { forge_in(to_node_1, OwnKind::multicast_end, {}, 0); },
  };
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    TestJob job(2);
    job[1].endpoint().segment().allocate(100);
    job[0].send(1, bytes_of(i));
    job.settle();
    forgeries[i]();
    job.settle();
    ASSERT_TRUE(job[1].lost.contains(0)) << "forgery " << i;
    EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input) << job[1].lost.at(0).what();
    EXPECT_TRUE(job[1].notifications.empty());
  }
}

TEST(ForgedRings, AFurtherLineOfAnotherMessageIsRefused) {
  using cluster::OwnKind;
  TestJob job(2);
  job[1].endpoint().segment().allocate(200);
  job[0].send(1, bytes_of(1));
  job.settle();
  forge(OwnKind::put_piece, cluster::PutPieceHeader{0, 100, 0, 1}, 100);
  forge_in(to_node_1, OwnKind::notification, bytes_of(Notification{1}), 0, 2);
  job.settle();
  ASSERT_TRUE(job[1].lost.contains(0));
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input);
  EXPECT_NE(std::string_view(job[1].lost.at(0).what()).find("one of its lines is of another"), std::string_view::npos);
  EXPECT_TRUE(job[1].notifications.empty());
}

// A line that belongs to the message before it.
void forge_further_in(const cluster::RingPlace& ring, std::uint64_t position) {
  for_each_ring_of_node_0(ring, [&](std::span<cluster::RingLine> lines) {
    lines[position].word.store(cluster::encode_further_word(position));
  });
}

// As where its sender is stopped while it writes, and goes on later.
TEST(ForgedRings, WhatIsHalfWrittenComesWhenItIsWhole) {
  TestJob job(2);
  job[1].endpoint().segment().allocate(200);
  job[0].send(1, bytes_of(1));
  job.settle();
  forge(cluster::OwnKind::put_piece, cluster::PutPieceHeader{0, 100, 0, 7}, 100);  // three lines; one is there
  for (std::uint64_t further = 2; further < 4; ++further) {
    job.settle();  // or it would not end
    EXPECT_TRUE(job[1].notifications.empty());
    EXPECT_TRUE(job[1].endpoint().arm(Alarm::none)) << "it keeps its receiver awake";
    job[1].endpoint().disarm();
    forge_further_in(to_node_1, further);
  }
  EXPECT_FALSE(job[1].endpoint().arm(Alarm::none));
  job.settle();
  EXPECT_EQ(job[1].notifications, (std::vector<std::pair<NodeId, Notification>>{{0, 7}}));
  EXPECT_TRUE(job[1].lost.empty());
}

// Neither is it waited for, nor does it keep anybody awake.
TEST(ForgedRings, WhatIsHalfWrittenAndThenAnotherIsNotThere) {
  TestJob job(2);
  job[1].endpoint().segment().allocate(200);
  job[0].send(1, bytes_of(1));
  job.settle();
  forge(cluster::OwnKind::put_piece, cluster::PutPieceHeader{0, 100, 0, 7}, 100);
  job.settle();
  forge(cluster::OwnKind::notification, Notification{7}, 0);
  job.settle();
  EXPECT_TRUE(job[1].endpoint().arm(Alarm::none));
  job[1].endpoint().disarm();
}

// The same in a ring that several read, and what comes by the other one meanwhile is not held up.
TEST(ForgedRings, WhatIsHalfWrittenForSeveralHoldsNothingElseUp) {
  TestJob job(2);
  std::shared_ptr<Multicast> multicast;
  job[0].with([&](Endpoint& endpoint) {
    const NodeId peer = 1;
    multicast = endpoint.multicast_to({&peer, 1});
    for (std::uint64_t message = 0; message < 2; ++message) {
      endpoint.send_to_all(*multicast, MessageType::test, {}, bytes_of(message));
    }
  });
  job.settle();
  ASSERT_EQ(job[1].messages.size(), 2U);
  forge_in(first_multicast, static_cast<cluster::OwnKind>(MessageType::test), {}, 100);  // two lines; one is there
  job.settle();
  EXPECT_TRUE(job[1].endpoint().arm(Alarm::none)) << "it keeps its receiver awake";
  job[1].endpoint().disarm();
  job[0].send(1, bytes_of(1));
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 3U);
  forge_further_in(first_multicast, 2);
  EXPECT_FALSE(job[1].endpoint().arm(Alarm::none));
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 4U);
  EXPECT_EQ(job[1].messages.back().payload.size(), 100U);
  EXPECT_TRUE(job[1].lost.empty());
  job[0].with([&](Endpoint&) { multicast.reset(); });
}

TEST(ForgedRings, WhoDiesWhileItWritesIsLost) {
  TestJob job(2);
  job[1].endpoint().segment().allocate(200);
  job[0].send(1, bytes_of(1));
  job.settle();
  forge(cluster::OwnKind::put_piece, cluster::PutPieceHeader{0, 100, 0, 1}, 100);
  job.nodes[0].reset();
  job.settle();
  ASSERT_TRUE(job[1].lost.contains(0));
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::peer_lost);
  EXPECT_TRUE(job[1].notifications.empty());
}

// What one peer is told, or may be sent, comes by the ring that it alone reads.
TEST(ForgedRings, WhatIsForOneIsRefusedWhereSeveralRead) {
  using cluster::OwnKind;
  const std::vector<std::function<void()>> forgeries = {
      [] { forge_in(to_node_1, OwnKind::multicast_begin, bytes_of(cluster::MulticastHeader{0, 0}), 0, 2); },  // again
      [] { forge_in(first_multicast, OwnKind::put_piece, bytes_of(cluster::PutPieceHeader{0, 8, 0, 1}), 8); },
      [] { forge_in(first_multicast, OwnKind::multicast_begin, bytes_of(cluster::MulticastHeader{1, 0}), 0); },
      [] { forge_in(first_multicast, OwnKind::other_ring, {}, 0); },
  };
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    TestJob job(2);
    job[1].endpoint().segment().allocate(100);
    std::shared_ptr<Multicast> multicast;
    job[0].with([&](Endpoint& endpoint) {
      const NodeId peer = 1;
      multicast = endpoint.multicast_to({&peer, 1});
    });
    ASSERT_NE(multicast, nullptr);
    // The first message goes by the edge, then that the ring begins; the second one by that ring.
    for (std::uint64_t message = 0; message < 2; ++message) {
      job[0].with(
          [&](Endpoint& endpoint) { endpoint.send_to_all(*multicast, MessageType::test, {}, bytes_of(message)); });
    }
    job.settle();
    ASSERT_EQ(job[1].messages.size(), 2U);
    ASSERT_TRUE(job[1].lost.empty());
    forgeries[i]();
    job.settle();
    ASSERT_TRUE(job[1].lost.contains(0)) << "forgery " << i;
    EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input) << job[1].lost.at(0).what();
    EXPECT_TRUE(job[1].notifications.empty());
    job[0].with([&](Endpoint&) { multicast.reset(); });
  }
}

// However often it says that the next one is in the other ring.
TEST(ForgedRings, WhoChangesRingsAtEachMessageIsHeard) {
  using cluster::OwnKind;
  TestJob job(2);
  job[0].send(1, bytes_of(1));
  job.settle();
  for (std::uint64_t at = 0; at < 50; ++at) {
    const auto next = static_cast<cluster::OwnKind>(MessageType::test);
    forge_in(to_node_1, OwnKind::other_ring, {}, 0, 1 + at);
    forge_in(long_to_node_1, next, bytes_of(at), 0, 2 * at);
    forge_in(long_to_node_1, OwnKind::other_ring, {}, 0, 2 * at + 1);
  }
  job.settle();
  EXPECT_EQ(job[1].messages.size(), 51U);
  EXPECT_TRUE(job[1].lost.empty());
  forge_in(to_node_1, OwnKind::other_ring, {}, 8, 51);
  job.settle();
  ASSERT_TRUE(job[1].lost.contains(0));
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input);
}

TEST(ForgedRings, AnAnswerThatIsLongerThanTheQuestionIsRefused) {
  ClusterOptions options = TestNode::small();
  options.peer_pointer = false;
  TestJob job(2, options);
  job[1].endpoint().segment().allocate(100);
  job[0].send(1, bytes_of(1));
  job.settle();
  std::vector<std::byte> destination(8);
  TestCompletion completion;
  job[1].with([&](Endpoint& endpoint) { endpoint.get(0, 0, destination, &completion); });
  forge(cluster::OwnKind::get_piece, cluster::GetPieceHeader{0, 0}, 9);
  job[1].serve();
  EXPECT_EQ(job[1].lost.at(0).code(), ErrorCode::bad_input);
  EXPECT_TRUE(completion.fired == 1 && completion.lost);
  EXPECT_EQ(destination, std::vector<std::byte>(8));
}

// One that is due at that position, and means something else each time: often a kind that exists, with sizes that may
// fit in a line or two, and often a further line.
std::uint64_t forged_word(Random& random, std::uint64_t position) {
  if (random.below(2) == 0) return cluster::encode_further_word(position);
  const std::uint64_t kind = random.below(2) == 0 ? 62 + random.below(8) : random.below(256);
  const std::uint64_t sizes = random.below(4) == 0 ? random() : 32 | random.below(60) << 16U;
  return cluster::sequence_of(position) | kind << 24U | sizes << 32U;
}

TEST(ForgedRings, CorruptedRingsCostTheConnectionAndNothingElse) {
  Random random(14);
  std::size_t handed_on = 0;
  // One in some forty rounds has something in it that looks right. How far the rings are depends on time.
  for (int round = 0; round < 100 || (handed_on == 0 && round < 4000); ++round) {
    TestJob job(2);
    job[0].send(1, bytes_of(std::uint64_t{1}));
    job[1].send(0, bytes_of(std::uint64_t{1}));
    job.settle();
    const auto rings = rings_of_this_process(layout_of_two());
    ASSERT_EQ(rings.size(), 2U);
    for (const std::span<cluster::RingLine> lines : rings) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        for (std::byte& byte : lines[i].bytes) byte = static_cast<std::byte>(random());
        const bool is_short = i < long_to_node_0.first;
        lines[i].word.store(
            forged_word(random, is_short ? i % to_node_1.lines : (i - long_to_node_0.first) % long_to_node_0.lines));
      }
    }
    job.settle();
    for (NodeId node = 0; node < 2; ++node) {
      // Whoever judges first closes, which the other sees as a loss or judges itself.
      ASSERT_TRUE(job[node].lost.contains(1 - node));
      handed_on += job[node].messages.size() - 1 + job[node].notifications.size();
    }
    EXPECT_TRUE(job[0].lost.at(1).code() == ErrorCode::bad_input || job[1].lost.at(0).code() == ErrorCode::bad_input);
  }
  EXPECT_GT(handed_on, 0U) << "nothing got past the first look, so this test tested little";
}

}  // namespace
}  // namespace stretto::fabric
