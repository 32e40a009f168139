#include "stretto/fabric/cluster/host/edge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <thread>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/base/test_support.h"

namespace stretto::fabric::cluster {
namespace {

constexpr std::uint8_t kind = static_cast<std::uint8_t>(MessageType::test);
constexpr std::uint8_t other_ring = static_cast<std::uint8_t>(OwnKind::other_ring);

constexpr std::uint32_t sizes[] = {least_ring_lines, 1024, 4096, 1U << 14U};
// Of the short ring, on any processor.
constexpr std::uint32_t short_sizes[] = {128, 512};

struct Edge {
  explicit Edge(std::uint32_t ring_lines = least_ring_lines, std::uint32_t short_ring_lines = short_sizes[0])
      : short_lines(short_ring_lines), long_lines(ring_lines) {}

  ConsumedCounter short_consumed;
  ConsumedCounter long_consumed;
  std::vector<RingLine> short_lines;
  std::vector<RingLine> long_lines;
  std::vector<std::byte> buffer = std::vector<std::byte>(max_message_line_bytes);
  EdgeWriter writer{RingWriter(short_lines.data(), size_of(short_lines), &short_consumed, 1),
                    RingWriter(long_lines.data(), size_of(long_lines), &long_consumed)};
  EdgeReader reader{RingReader(short_lines.data(), size_of(short_lines), &short_consumed),
                    RingReader(long_lines.data(), size_of(long_lines), &long_consumed)};
  int changes = 0;

  static std::uint32_t size_of(const std::vector<RingLine>& lines) { return static_cast<std::uint32_t>(lines.size()); }
  bool write(std::uint64_t text, std::size_t bytes) {
    std::vector<std::byte> payload(bytes);
    std::memcpy(payload.data(), &text, std::min(bytes, sizeof text));
    return writer.try_write(kind, {}, payload);
  }
  // The next message, as a transport takes it; empty when there is none.
  DecodedLine take() {
    for (;;) {
      const DecodedLine line = reader.current().take(buffer.data());
      if (line.state == LineState::message && line.head.kind == other_ring) {
        reader.change();
        ++changes;
        continue;
      }
      reader.current().give_back();
      return line;
    }
  }
  // The same for who foresees the next message, as one of those that are sent here; its place is the buffer.
  bool take_foreseen(std::size_t bytes) {
    const Foreseen foreseen{static_cast<MessageType>(kind), 0, {}, ByteSpan(buffer).first(bytes)};
    const bool is_taken = reader.current().take(Awaited{.bytes = bytes, .is_due = true, .foreseen = &foreseen});
    reader.current().give_back();
    return is_taken;
  }
  std::uint64_t text() const {
    std::uint64_t text = 0;
    std::memcpy(&text, buffer.data(), sizeof text);
    return text;
  }
};

std::size_t random_size(Random& random) {
  switch (random.below(8)) {
    case 0: return 8 + random.below(max_message_bytes - 7);
    case 1: return 8 + random.below(2000);
    default: return 8 + random.below(100);
  }
}

// Readers that keep up, that rest for a while, and that read by turns.
TEST(Edge, EveryMessageArrivesOnceAndInOrderSeeds) {
  int runs = 0;
  int refused = 0;
  int changes = 0;
  for (const std::uint64_t seed : test::seeds(30)) {
    ++runs;
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    Edge edge(sizes[seed % std::size(sizes)], short_sizes[seed / std::size(sizes) % std::size(short_sizes)]);
    std::deque<std::size_t> sent;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::uint64_t pace = 2;
    for (int step = 0; step < 5000; ++step) {
      if (random.below(2) == 0) edge.writer.claim_next();
      if (random.below(300) == 0) pace = random.below(5);
      if (random.below(5) >= pace) {
        const std::size_t bytes = random_size(random);
        const bool has_room = edge.writer.has_room(lines_of(bytes));
        const bool is_written = edge.write(written, bytes);
        ASSERT_GE(is_written, has_room);
        refused += static_cast<int>(!is_written);
        if (!is_written) continue;
        ++written;
        sent.push_back(bytes);
      } else {
        if (sent.empty() || random.below(2) == 0 || !edge.take_foreseen(sent.front())) {
          const DecodedLine line = edge.take();
          ASSERT_EQ(line.state == LineState::empty, sent.empty());
          if (sent.empty()) continue;
          ASSERT_EQ(line.head.bytes(), sent.front());
        }
        ASSERT_EQ(edge.text(), read++);
        sent.pop_front();
      }
    }
    changes += edge.changes;
  }
  EXPECT_GT(refused, runs) << "the edge was hardly ever full, so this test tested little";
  EXPECT_GT(changes, runs);
}

TEST(Edge, WhoReadsAtOnceNeedsTheShortRingAlone) {
  for (const std::uint32_t short_lines : short_sizes) {
    Edge edge(least_ring_lines, short_lines);
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      ASSERT_TRUE(edge.write(i, 8 + i % 4000));
      ASSERT_EQ(edge.take().state, LineState::message);
      ASSERT_EQ(edge.text(), i);
    }
    EXPECT_EQ(edge.changes, 0) << short_lines;
  }
}

// As much as the long ring has room for, and then the short one again.
TEST(Edge, WhoRestsIsWrittenToAllTheSame) {
  for (const std::uint32_t ring_lines : sizes) {
    Edge edge(ring_lines);
    std::uint64_t written = 0;
    for (int rest = 0; rest < 3; ++rest) {
      std::uint64_t read = written;
      while (edge.write(written, 8)) ++written;
      EXPECT_GE(written - read, ring_lines);
      // It goes on, faster than what is written meanwhile, which is to the long ring until it has caught up.
      while (read < written) {
        ASSERT_EQ(edge.take().state, LineState::message) << ring_lines;
        ASSERT_EQ(edge.text(), read++);
        if (read % 2 == 0 && edge.write(written, 8)) ++written;
      }
      // It keeps up now.
      for (std::uint32_t i = 0; i < ring_lines; ++i) {
        ASSERT_TRUE(edge.write(written, 8));
        ASSERT_EQ(edge.take().state, LineState::message);
        ASSERT_EQ(edge.text(), written++);
      }
      EXPECT_EQ(edge.changes, 2 * rest + 2) << ring_lines;
    }
  }
}

TEST(Edge, AnEmptyOneHasRoomForTheLargestMessage) {
  Random random(4);
  Edge edge;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(edge.write(0, random_size(random)));
    ASSERT_EQ(edge.take().state, LineState::message);
    ASSERT_TRUE(edge.writer.has_room(max_message_lines)) << "after message " << i;
  }
  EXPECT_GT(edge.changes, 10);
}

TEST(Edge, NoWordOfAPeerMakesTheWriterLeaveTheRings) {
  Edge edge;
  for (const std::uint64_t lie : {~std::uint64_t{0}, std::uint64_t{1} << 63U, std::uint64_t{12345}}) {
    edge.short_consumed.lines.store(lie);
    edge.long_consumed.lines.store(lie);
    for (std::uint64_t i = 0; i < 1000; ++i) edge.write(i, 1000);  // the sanitizer watches
  }
}

TEST(Edge, TwoThreadsPassAllMessagesInOrder) {
  Edge edge;
  constexpr std::uint64_t count = 100'000;
  const auto size_of = [](std::uint64_t message) { return message % 64 == 0 ? 2000 : 8 + message % 200; };
  std::thread writer([&] {
    std::vector<std::byte> payload;
    for (std::uint64_t i = 0; i < count; ++i) {
      payload.resize(size_of(i));
      std::memcpy(payload.data(), &i, sizeof i);
      while (!edge.writer.try_write_soon(kind, {}, payload)) std::this_thread::yield();
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count;) {
    const DecodedLine line = edge.take();
    if (line.state == LineState::empty) {
      std::this_thread::yield();
      continue;
    }
    wrong += static_cast<std::uint64_t>(line.head.bytes() != size_of(i) || edge.text() != i);
    ++i;
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace stretto::fabric::cluster
