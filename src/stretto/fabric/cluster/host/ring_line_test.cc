#include "stretto/fabric/cluster/host/ring_line.h"

#include <gtest/gtest.h>

#include "stretto/base/random.h"
#include "stretto/fabric/endpoint.h"

namespace stretto::fabric::cluster {
namespace {

constexpr std::uint8_t test_kind = static_cast<std::uint8_t>(MessageType::test);

TEST(RingLine, WhatIsEncodedIsDecoded) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    LineHead head;
    head.kind = static_cast<std::uint8_t>(random.between(1, first_own_kind - 1));
    head.header_bytes = static_cast<std::uint16_t>(random.below(max_header_bytes + 1));
    head.payload_bytes = static_cast<std::uint16_t>(random.below(max_message_bytes - head.header_bytes + 1));
    const std::uint64_t position = random();
    const DecodedLine line = decode_word(encode_word(head, position), position);
    ASSERT_EQ(line.state, LineState::message) << fault_of(line.head);
    EXPECT_EQ(line.head, head);
  }
}

TEST(RingLine, AWordOfAnotherLapIsEmpty) {
  const LineHead head{test_kind, 8, 0};
  for (const std::uint64_t lap : {512U, 1024U, 1U << 20U}) {
    EXPECT_EQ(decode_word(encode_word(head, 5), 5 + lap).state, LineState::empty);
    EXPECT_EQ(decode_word(encode_word(head, 5 + lap), 5).state, LineState::empty);
  }
}

TEST(RingLine, FreshMemoryIsEmptyAtEveryPosition) {
  for (std::uint64_t position = 0; position < 1U << 12U; ++position) {
    EXPECT_EQ(decode_word(0, position).state, LineState::empty);
  }
  EXPECT_EQ(decode_word(0, 0xffffff).state, LineState::empty);  // where the sequence is zero
}

TEST(RingLine, EachLimitIsKept) {
  const auto state_of = [](const LineHead& head) { return decode_word(encode_word(head, 7), 7).state; };
  EXPECT_EQ(state_of({test_kind, max_header_bytes, max_message_bytes - max_header_bytes}), LineState::message);
  EXPECT_EQ(state_of({test_kind, max_header_bytes, max_message_bytes - max_header_bytes + 1}), LineState::bad);
  EXPECT_EQ(state_of({test_kind, max_header_bytes + 1, 0}), LineState::bad);
  EXPECT_EQ(state_of({test_kind, 0, 0xffff}), LineState::bad);
  EXPECT_EQ(state_of({0, 8, 8}), LineState::bad);
  EXPECT_EQ(state_of({end_of_kinds, 8, 0}), LineState::bad);
  EXPECT_EQ(state_of({255, 0, 0}), LineState::bad);
}

TEST(RingLine, OwnKindsHaveTheirOwnSizes) {
  const auto state_of = [](OwnKind kind, std::size_t header, std::uint16_t payload) {
    const LineHead head{static_cast<std::uint8_t>(kind), static_cast<std::uint16_t>(header), payload};
    return decode_word(encode_word(head, 9), 9).state;
  };
  EXPECT_EQ(state_of(OwnKind::notification, sizeof(fabric::Notification), 0), LineState::message);
  EXPECT_EQ(state_of(OwnKind::notification, sizeof(fabric::Notification) - 1, 0), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::notification, sizeof(fabric::Notification), 1), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::put_piece, sizeof(PutPieceHeader), 100), LineState::message);
  EXPECT_EQ(state_of(OwnKind::put_piece, sizeof(PutPieceHeader) + 1, 100), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::get_request, sizeof(GetRequestHeader), 0), LineState::message);
  EXPECT_EQ(state_of(OwnKind::get_request, sizeof(GetRequestHeader), 8), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::get_piece, sizeof(GetPieceHeader), 8), LineState::message);
  EXPECT_EQ(state_of(OwnKind::get_piece, 0, 8), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::multicast_begin, sizeof(MulticastHeader), 0), LineState::message);
  EXPECT_EQ(state_of(OwnKind::multicast_begin, sizeof(MulticastHeader), 1), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::multicast_end, 0, 0), LineState::message);
  EXPECT_EQ(state_of(OwnKind::multicast_end, 8, 0), LineState::bad);
  EXPECT_EQ(state_of(OwnKind::other_ring, 0, 0), LineState::message);
  EXPECT_EQ(state_of(OwnKind::other_ring, 0, 8), LineState::bad);
}

TEST(RingLine, FurtherLinesAreNoMessages) {
  for (const std::uint64_t position : {0U, 5U, 0xffffffU}) {
    const std::uint64_t word = encode_further_word(position);
    EXPECT_EQ(decode_word(word, position).state, LineState::bad);
    EXPECT_EQ(state_of_further_word(word, position), LineState::message);
    EXPECT_EQ(state_of_further_word(word, position + 512), LineState::empty);
    EXPECT_EQ(state_of_further_word(word ^ std::uint64_t{1} << 40U, position), LineState::bad);
    EXPECT_EQ(state_of_further_word(0, position), LineState::empty);
  }
}

// Every mutation of a good word, and words of no origin, are either refused or within all limits.
TEST(RingLine, NoWordBreaksALimit) {
  Random random(2);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t position = random.below(1U << 20U);
    std::uint64_t word = random();
    if (i % 2 == 0) {
      word = encode_word({test_kind, 16, 40}, position);
      for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) word ^= std::uint64_t{1} << random.below(64);
    } else if (i % 4 == 1) {
      word = (word & ~std::uint64_t{0xffffff}) | sequence_of(position);
    }
    const DecodedLine line = decode_word(word, position);
    if (line.state == LineState::empty) continue;
    if (line.state == LineState::bad) {
      EXPECT_FALSE(fault_of(line.head).empty());
      continue;
    }
    ASSERT_LE(line.head.header_bytes, max_header_bytes);
    ASSERT_LE(line.head.bytes(), max_message_bytes);
    ASSERT_LE(line.head.lines(), max_message_lines);
    ASSERT_LT(line.head.kind, end_of_kinds);
  }
}

TEST(RingLine, LinesAreCountedByWhatFits) {
  EXPECT_EQ((LineHead{test_kind, 0, 0}.lines()), 1U);
  EXPECT_EQ((LineHead{test_kind, 16, 40}.lines()), 1U);
  EXPECT_EQ((LineHead{test_kind, 16, 41}.lines()), 2U);
  EXPECT_EQ((LineHead{test_kind, 0, 2 * 56}.lines()), 2U);
  EXPECT_EQ((LineHead{test_kind, 0, 2 * 56 + 1}.lines()), 3U);
  EXPECT_EQ((LineHead{test_kind, 0, max_message_bytes}.lines()), max_message_lines);
}

}  // namespace
}  // namespace stretto::fabric::cluster
