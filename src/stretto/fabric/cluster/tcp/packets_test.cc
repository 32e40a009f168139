#include "stretto/fabric/cluster/tcp/packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/base/test_support.h"

namespace stretto::fabric::cluster::network {
namespace {

using Bytes = std::vector<std::byte>;

/// Takes bytes as a kernel does, which sends together what comes until somebody says that a packet ends.
struct Kernel {
  Bytes taken;
  std::size_t since_end = 0;
  std::size_t longest = 0;
  std::vector<std::size_t> ended;  // how long they were

  void take(std::span<const iovec> pieces, std::size_t bytes, bool end) {
    for (const iovec& piece : pieces) {
      const std::size_t some = std::min(piece.iov_len, bytes);
      const auto* const begin = static_cast<const std::byte*>(piece.iov_base);
      taken.insert(taken.end(), begin, begin + some);
      since_end += some;
      bytes -= some;
    }
    longest = std::max(longest, since_end);
    if (!end) return;
    ended.push_back(since_end);
    since_end = 0;
  }
};

/// Pieces of random lengths, of which some are empty, cover `bytes`.
std::vector<iovec> random_pieces(Random& random, Bytes& bytes) {
  std::vector<iovec> pieces;
  const std::size_t longest = 1 + bytes.size() / (1 + random.below(60));
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(random.below(longest + 1), bytes.size() - at);
    pieces.push_back({bytes.data() + at, length});
    at += length;
  }
  return pieces;
}

/// What is left of `pieces` behind their first `bytes`.
std::vector<iovec> rest_of(std::span<const iovec> pieces, std::size_t bytes) {
  std::vector<iovec> rest;
  for (const iovec& piece : pieces) {
    const std::size_t gone = std::min(piece.iov_len, bytes);
    bytes -= gone;
    rest.push_back({static_cast<std::byte*>(piece.iov_base) + gone, piece.iov_len - gone});
  }
  return rest;
}

TEST(Packets, NoneIsTooLongWhateverTheKernelTakesSeeds) {
  for (const std::uint64_t seed : test::seeds(300)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    Kernel kernel;
    OpenPacket open;
    Bytes all;
    for (std::uint64_t calls = 1 + random.below(10); calls > 0; --calls) {
      Bytes bytes(random.below(std::uint64_t{1} << random.below(20)));
      for (std::byte& each : bytes) each = static_cast<std::byte>(random.below(256));
      std::vector<iovec> left = random_pieces(random, bytes);
      for (std::size_t sent = 0; sent < bytes.size();) {
        Packets packets(open, left);
        std::size_t now = 0;
        for (auto packet = packets.next(); !packet.empty(); packet = packets.next()) {
          const bool takes_all = random.below(4) != 0;
          const std::size_t some = takes_all ? packets.bytes() : random.below(packets.bytes());
          kernel.take(packet, some, takes_all && packets.ends());
          packets.sent(some);
          now += some;
          if (!takes_all) break;
        }
        left = rest_of(left, now);
        sent += now;
      }
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(kernel.taken, all);
    EXPECT_LE(kernel.longest, Packets::most_bytes);
    for (const std::size_t length : kernel.ended) EXPECT_GE(length, Packets::least_ended_bytes);
    EXPECT_EQ(open.bytes, kernel.since_end);
  }
}

TEST(Packets, AreAsLongAsTheyMayBe) {
  Bytes bytes(3 * Packets::most_bytes);
  const iovec piece{bytes.data(), bytes.size()};
  OpenPacket open;
  Packets packets(open, {&piece, 1});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(packets.next().size(), 1U);
    EXPECT_EQ(packets.bytes(), Packets::most_bytes);
    EXPECT_TRUE(packets.ends());
    packets.sent(packets.bytes());
  }
  EXPECT_TRUE(packets.next().empty());
}

TEST(Packets, WhatIsShortLeavesRoomForWhatFollows) {
  Bytes bytes(100'000);
  const iovec few{bytes.data(), 4000};
  const iovec many{bytes.data(), bytes.size()};
  OpenPacket open;
  Packets first(open, {&few, 1});
  EXPECT_EQ(first.next().size(), 1U);
  EXPECT_FALSE(first.ends());
  first.sent(first.bytes());
  Packets second(open, {&many, 1});
  EXPECT_EQ(second.next().size(), 1U);
  EXPECT_EQ(second.bytes(), Packets::most_bytes - 4000);
  EXPECT_TRUE(second.ends());
}

TEST(Packets, OfNothingThereIsNone) {
  OpenPacket open;
  const iovec empty{nullptr, 0};
  EXPECT_TRUE(Packets(open, {}).next().empty());
  EXPECT_TRUE(Packets(open, {&empty, 1}).next().empty());
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
