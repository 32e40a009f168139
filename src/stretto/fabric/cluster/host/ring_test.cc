#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <thread>

#include "stretto/base/random.h"
#include "stretto/base/test_support.h"
#include "stretto/fabric/cluster/host/ring_fuzz.h"
#include "stretto/fabric/cluster/host/ring_reader.h"
#include "stretto/fabric/cluster/host/ring_writer.h"

namespace stretto::fabric::cluster {
namespace {

constexpr std::uint8_t kind = static_cast<std::uint8_t>(MessageType::test);

struct Ring {
  ConsumedCounter consumed;
  std::vector<RingLine> lines = std::vector<RingLine>(least_ring_lines);
  std::vector<std::byte> buffer = std::vector<std::byte>(max_message_line_bytes);
  RingWriter writer{lines.data(), least_ring_lines, &consumed};
  RingReader reader{lines.data(), least_ring_lines, &consumed};
};

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Sizes around the limits of lines, and some large ones.
std::size_t random_size(Random& random) {
  switch (random.below(4)) {
    case 0: return random.below(RingLine::inline_bytes + 1);
    case 1: return random.below(300);
    case 2: return RingLine::inline_bytes * random.below(20);
    default: return random.below(max_message_bytes - max_header_bytes + 1);
  }
}

TEST(Ring, EveryMessageArrivesOnceAndWhole) {
  Random random(3);
  Ring ring;
  std::deque<std::vector<std::byte>> sent;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
  while (read < 20'000) {
    if (random.below(2) == 0) ring.writer.claim_next();
    if (random.below(3) != 0) {
      const std::vector<std::byte> header = random_bytes(random, random.below(max_header_bytes + 1));
      const std::vector<std::byte> payload = random_bytes(random, random_size(random));
      if (ring.writer.try_write(kind, header, payload)) {
        ++written;
        sent.push_back(header);
        sent.back().insert(sent.back().end(), payload.begin(), payload.end());
      } else {
        ++refused;
      }
    } else {
      const DecodedLine line = ring.reader.take(ring.buffer.data());
      if (line.state == LineState::empty) {
        ASSERT_TRUE(sent.empty());
        ring.reader.found_nothing({.bytes = random_size(random), .is_due = random.below(2) == 0});  // rightly or not
        continue;
      }
      ASSERT_EQ(line.state, LineState::message) << fault_of(line.head);
      ASSERT_FALSE(sent.empty());
      ASSERT_EQ(line.head.bytes(), sent.front().size());
      ASSERT_TRUE(std::equal(sent.front().begin(), sent.front().end(), ring.buffer.begin()));
      sent.pop_front();
      ring.reader.give_back();
      ++read;
    }
  }
  EXPECT_EQ(written, read + sent.size());
  EXPECT_GT(refused, 100U) << "the ring was never full, so this test tested little";
}

// Whatever differs: what is taken is just what was foreseen, and all else stays.
TEST(Ring, WhatIsForeseenIsTakenInOneGoAndNothingElseIs) {
  Random random(5);
  Ring ring;
  std::uint64_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> header = random_bytes(random, 4 * random.below(12));
    const std::vector<std::byte> payload =
        random_bytes(random, random.below(2) == 0 ? random.below(64) : random_size(random));
    ASSERT_TRUE(ring.writer.try_write(kind, header, payload));
    const std::size_t known = std::min<std::size_t>(4 * random.below(12), header.size());
    std::vector<std::byte> beginning(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(known));
    std::vector<std::byte> place(payload.size());
    Foreseen foreseen{static_cast<MessageType>(kind), header.size(), beginning, place};
    const auto looks = static_cast<unsigned>(random.below(3));
    bool is_so = true;
    switch (random.below(6)) {
      case 0:
        foreseen.type = MessageType::test_reply;
        is_so = false;
        break;
      case 1:
        foreseen.header_bytes += 4;
        is_so = false;
        break;
      case 2:
        place.push_back(std::byte{});
        foreseen.payload = place;
        is_so = false;
        break;
      case 3:
        if (known == 0) break;
        beginning[random.below(known)] ^= std::byte{1};
        is_so = false;
        break;
      default: break;
    }
    ASSERT_EQ(ring.reader.take(Awaited{.foreseen = &foreseen, .looks = looks}), is_so) << i;
    if (is_so) {
      EXPECT_EQ(place, payload);
      ++taken;
    } else {
      ASSERT_EQ(ring.reader.take(ring.buffer.data()).head,
                (LineHead{kind, std::uint16_t(header.size()), std::uint16_t(payload.size())}));
    }
    EXPECT_FALSE(ring.reader.take(Awaited{.foreseen = &foreseen, .looks = looks})) << "twice";
    ring.reader.give_back();
  }
  EXPECT_GT(taken, 3000U);
}

TEST(Ring, WhatIsForeseenIsLookedForAsOftenAsTold) {
  Ring ring;
  constexpr int rounds = 2000;
  std::atomic<int> looked_for{0};
  std::thread writer([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (looked_for.load() != round) std::this_thread::yield();
      const std::uint32_t text = static_cast<std::uint32_t>(round);
      while (!ring.writer.try_write(kind, {}, bytes_of(text))) std::this_thread::yield();
    }
  });
  int found = 0;
  for (int round = 1; round <= rounds; ++round) {
    std::uint32_t text = 0;
    const Foreseen foreseen{static_cast<MessageType>(kind), 0, {}, writable_bytes_of(text)};
    looked_for.store(round);
    if (ring.reader.take(Awaited{.is_due = true, .foreseen = &foreseen, .looks = ~0U})) {
      ++found;
      EXPECT_EQ(text, static_cast<std::uint32_t>(round));
    } else {
      while (ring.reader.take(ring.buffer.data()).state != LineState::message) std::this_thread::yield();
    }
    ring.reader.give_back();
  }
  writer.join();
  EXPECT_EQ(found, rounds);
}

// Each reads all from where it began, and who has read least keeps the writer from going on. Readers come and go.
TEST(Ring, SeveralReadersReadAllOfItSeeds) {
  struct Reader {
    std::unique_ptr<ConsumedCounter> consumed;
    RingReader reader;
    std::size_t next;  // of all that was sent
  };
  std::uint64_t refused = 0;
  std::size_t most_readers = 0;
  for (const std::uint64_t seed : test::seeds(20)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    std::vector<RingLine> lines(least_ring_lines);
    RingWriter writer(lines.data(), least_ring_lines);
    std::vector<Reader> readers;
    std::vector<std::vector<std::byte>> sent;
    std::vector<std::byte> buffer(max_message_line_bytes);
    for (int step = 0; step < 20'000; ++step) {
      if (readers.size() < 4 && random.below(500) == 0) {
        auto consumed = std::make_unique<ConsumedCounter>();
        // What it has not heard of yet has its place all the same.
        consumed->lines =
            writer.position() - std::min<std::uint64_t>(writer.position(), random.below(2 * least_ring_lines));
        const RingReader reader(lines.data(), least_ring_lines, consumed.get(), writer.position());
        readers.push_back({std::move(consumed), reader, sent.size()});
        std::vector<const ConsumedCounter*> counters;
        for (const Reader& each : readers) counters.push_back(each.consumed.get());
        writer.set_readers(std::move(counters));
        most_readers = std::max(most_readers, readers.size());
      } else if (!readers.empty() && random.below(1000) == 0) {
        writer.drop_reader(readers.back().consumed.get());
        readers.pop_back();
      } else if (random.below(static_cast<std::uint64_t>(readers.size()) + 1) == 0) {
        std::vector<std::byte> payload = random_bytes(random, random_size(random));
        if (writer.try_write(kind, {}, payload)) {
          sent.push_back(std::move(payload));
        } else {
          ++refused;
        }
      } else {
        Reader& one = readers[random.below(readers.size())];
        const DecodedLine line = one.reader.take(buffer.data());
        if (line.state == LineState::empty) {
          ASSERT_EQ(one.next, sent.size());
          one.reader.give_back_all();
          continue;
        }
        ASSERT_EQ(line.state, LineState::message) << fault_of(line.head);
        ASSERT_LT(one.next, sent.size());
        const std::vector<std::byte>& expected = sent[one.next++];
        ASSERT_EQ(line.head.bytes(), expected.size());
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), buffer.begin()));
        one.reader.give_back();
      }
      const bool all_have_read = std::all_of(readers.begin(), readers.end(), [&](const Reader& one) {
        return one.consumed->lines.load() == writer.position();
      });
      ASSERT_EQ(writer.all_read(), all_have_read);
    }
  }
  EXPECT_GT(refused, 100U) << "the ring was never full, so this test tested little";
  EXPECT_EQ(most_readers, 4U);
}

TEST(Ring, AnEmptyRingHasRoomForTheLargestMessage) {
  Random random(4);
  Ring ring;
  const std::vector<std::byte> largest(max_message_bytes);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t size = random.below(200);
    ASSERT_TRUE(ring.writer.try_write(kind, {}, ConstByteSpan(largest).first(size)));
    ASSERT_EQ(ring.reader.take(ring.buffer.data()).state, LineState::message);
    ring.reader.give_back();
    ASSERT_TRUE(ring.writer.has_room(max_message_lines)) << "after message " << i;
  }
}

// As a reader finds a ring whose writer is stopped in the middle of a message, at each of its lines: those that are not
// written yet hold what the lap before has left, lines of all kinds.
TEST(Ring, WhatIsHalfWrittenIsNotThereYet) {
  Random random(7);
  for (std::uint64_t begin = least_ring_lines; begin < 3 * least_ring_lines; begin += 13) {
    Ring ring;
    while (ring.writer.position() < begin) {
      const std::uint64_t lines = std::min(begin - ring.writer.position(), 1 + random.below(5));
      const std::vector<std::byte> earlier = random_bytes(random, lines * RingLine::inline_bytes);
      ASSERT_TRUE(ring.writer.try_write(kind, {}, earlier));
      ASSERT_EQ(ring.reader.take(ring.buffer.data()).state, LineState::message);
      ring.reader.give_back();
    }
    ASSERT_FALSE(ring.reader.ready());
    std::vector<std::byte> before(least_ring_lines * sizeof(RingLine));
    std::memcpy(before.data(), ring.lines.data(), before.size());
    const std::vector<std::byte> header = random_bytes(random, 12);
    const std::vector<std::byte> payload = random_bytes(random, 1 + random.below(1000));
    ASSERT_TRUE(ring.writer.try_write(kind, header, payload));
    std::vector<std::byte> after(before.size());
    std::memcpy(after.data(), ring.lines.data(), after.size());
    std::memcpy(static_cast<void*>(ring.lines.data()), before.data(), before.size());

    for (std::uint64_t position = begin; position < ring.writer.position(); ++position) {
      ASSERT_FALSE(ring.reader.whole());
      std::vector<std::byte> place(payload.size());
      const Foreseen foreseen{static_cast<MessageType>(kind), header.size(), {}, place};
      ASSERT_FALSE(ring.reader.take(Awaited{.foreseen = &foreseen}));
      ASSERT_EQ(ring.reader.take(ring.buffer.data()).state, LineState::empty);
      ASSERT_FALSE(ring.reader.ready()) << "it is waited for again and again";
      const std::size_t at = position % least_ring_lines * sizeof(RingLine);
      std::memcpy(reinterpret_cast<std::byte*>(ring.lines.data()) + at, after.data() + at, sizeof(RingLine));
      ASSERT_TRUE(ring.reader.ready());
    }
    ASSERT_TRUE(ring.reader.whole());
    ASSERT_EQ(ring.reader.take(ring.buffer.data()).head.bytes(), header.size() + payload.size());
    ASSERT_TRUE(std::equal(header.begin(), header.end(), ring.buffer.begin()));
    ASSERT_TRUE(std::equal(payload.begin(), payload.end(), ring.buffer.begin() + 12));
    ASSERT_FALSE(ring.reader.ready());
  }
}

TEST(Ring, AFurtherLineOfAnotherMessageIsBad) {
  const std::vector<std::byte> payload(1000);
  const std::uint64_t lines = lines_of(payload.size());
  for (std::uint64_t line = 1; line < lines; ++line) {
    Ring ring;
    ASSERT_TRUE(ring.writer.try_write(kind, {}, payload));
    ring.lines[line].word = encode_word({kind, 8, 8}, line);
    EXPECT_TRUE(ring.reader.whole());
    std::vector<std::byte> place(payload.size());
    const Foreseen foreseen{static_cast<MessageType>(kind), 0, {}, place};
    EXPECT_FALSE(ring.reader.take(Awaited{.foreseen = &foreseen}));
    EXPECT_EQ(ring.reader.take(ring.buffer.data()).state, LineState::bad) << "line " << line;
  }
}

TEST(Ring, WhatNoLineHoldsIsNotForeseen) {
  Ring ring;
  const std::vector<std::byte> header(RingLine::inline_bytes + 1);
  std::vector<std::byte> place(1 << 16U);
  ASSERT_TRUE(ring.writer.try_write(kind, header, {}));
  for (const auto& [header_bytes, payload] :
       {std::pair(header.size(), std::size_t{0}), std::pair(std::size_t{0}, place.size()),
        std::pair(header.size(), place.size())}) {
    const Foreseen foreseen{static_cast<MessageType>(kind), header_bytes, {}, ByteSpan(place).first(payload)};
    EXPECT_FALSE(ring.reader.take(Awaited{.foreseen = &foreseen}));
  }
  EXPECT_EQ(ring.reader.take(ring.buffer.data()).head.bytes(), header.size());
}

TEST(Ring, NoWordOfAPeerMakesTheWriterLeaveTheRing) {
  Ring ring;
  const std::vector<std::byte> payload(1000);
  for (const std::uint64_t lie : {~std::uint64_t{0}, std::uint64_t{1} << 63U, std::uint64_t{12345}}) {
    ring.consumed.lines.store(lie);
    for (int i = 0; i < 1000; ++i) ring.writer.try_write(kind, {}, payload);  // the sanitizer watches
  }
}

TEST(Ring, CorruptedMemoryIsRefusedOrHarmless) {
  Random random(5);
  int good = 0;
  for (int i = 0; i < 3000; ++i) {
    Ring ring;
    while (ring.writer.try_write(kind, random_bytes(random, 8), random_bytes(random, random_size(random)))) {
    }
    std::vector<std::byte> memory(least_ring_lines * sizeof(RingLine));
    std::memcpy(memory.data(), ring.lines.data(), memory.size());
    for (std::uint64_t flips = 1 + random.below(64); flips > 0; --flips) {
      memory[random.below(i % 2 == 0 ? 64 : memory.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    good += fuzz_ring_reader(memory);
  }
  EXPECT_GT(good, 0);
  for (int i = 0; i < 3000; ++i) fuzz_ring_reader(random_bytes(random, random.below(1 << 15)));
}

// Each word of a message says which message that is, so that one that is read too early shows.
TEST(Ring, TwoThreadsPassAllMessagesInOrderOfTheRing) {
  Ring ring;
  constexpr std::uint64_t count = 200'000;
  const auto words_of = [](std::uint64_t message) { return 1 + (message * 37) % (message % 4 == 0 ? 250 : 8); };
  std::thread writer([&] {
    std::vector<std::uint64_t> payload;
    for (std::uint64_t i = 0; i < count; ++i) {
      payload.assign(words_of(i), i);
      while (!ring.writer.try_write(kind, {}, std::as_bytes(std::span(payload)))) std::this_thread::yield();
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count;) {
    const DecodedLine line = ring.reader.take(ring.buffer.data());
    if (line.state == LineState::empty) {
      ring.reader.found_nothing({.bytes = 8});
      std::this_thread::yield();
      continue;
    }
    wrong += static_cast<std::uint64_t>(line.state != LineState::message || line.head.bytes() != 8 * words_of(i));
    for (std::size_t word = 0; word < words_of(i); ++word) {
      std::uint64_t value = 0;
      std::memcpy(&value, ring.buffer.data() + 8 * word, sizeof value);
      wrong += static_cast<std::uint64_t>(value != i);
    }
    ring.reader.give_back();
    ++i;
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace stretto::fabric::cluster
