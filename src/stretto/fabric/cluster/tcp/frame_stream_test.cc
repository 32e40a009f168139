#include "stretto/fabric/cluster/tcp/frame_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/random.h"
#include "stretto/base/test_support.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/network/frame.h"

namespace stretto::fabric::cluster::network {
namespace {

using Bytes = std::vector<std::byte>;
using Frames = std::vector<std::pair<Bytes, Bytes>>;

Bytes random_bytes(Random& random, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
  return bytes;
}

Bytes stream_of(const Frames& frames) {
  Bytes stream;
  for (const auto& [header, data] : frames) {
    const FramePrefix prefix = prefix_of(header, data);
    stream.insert(stream.end(), prefix.begin(), prefix.end());
    stream.insert(stream.end(), header.begin(), header.end());
    stream.insert(stream.end(), data.begin(), data.end());
  }
  return stream;
}

TEST(FrameStream, HoweverItIsCutTheSameFramesComeOutSeeds) {
  for (const std::uint64_t seed : test::seeds(200)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    Frames sent;
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      const std::size_t most = random.below(4) == 0 ? most_piece_bytes + 1 : 100;
      sent.emplace_back(random_bytes(random, random.below(FrameHeader::max_bytes + 1)),
                        random_bytes(random, random.below(most)));
    }
    const Bytes stream = stream_of(sent);
    const std::size_t longest_cut = std::size_t{1} << random.below(18);
    Frames got;
    FrameReader reader;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t cut = std::min<std::size_t>(1 + random.below(longest_cut), stream.size() - at);
      reader.read(ConstByteSpan(stream).subspan(at, cut), [&](ConstByteSpan header, ConstByteSpan data) {
        got.emplace_back(Bytes(header.begin(), header.end()), Bytes(data.begin(), data.end()));
      });
      at += cut;
    }
    EXPECT_EQ(got, sent);
    EXPECT_TRUE(reader.between_frames());
  }
}

/// Wants the data of some frames in places of their own, and gives up some of those while the data arrive.
class Places {
 public:
  explicit Places(Random& random) : random_(random) {}

  ByteSpan for_frame(ConstByteSpan header, std::size_t bytes) {
    if (!asked_) {
      asked_ = true;
      header_.assign(header.begin(), header.end());
      if (random_.below(2) != 0) place_.emplace(bytes);
    }
    EXPECT_TRUE(std::equal(header.begin(), header.end(), header_.begin(), header_.end()));
    if (place_ && random_.below(16) == 0) {
      place_.reset();
      given_up_ = true;
    }
    return place_ ? ByteSpan(*place_) : ByteSpan();
  }
  /// The next frame is there. Returns whether its data have to be what was sent: nobody gave them up.
  bool take(ConstByteSpan data) {
    EXPECT_TRUE(!place_ || data.data() == place_->data());
    asked_ = false;
    place_.reset();
    return !std::exchange(given_up_, false);
  }

 private:
  Random& random_;
  bool asked_ = false;
  bool given_up_ = false;
  Bytes header_;
  std::optional<Bytes> place_;
};

// As a carrier does: what comes fills the place first.
TEST(FrameStream, DataArriveInTheirPlacesOrHereSeeds) {
  for (const std::uint64_t seed : test::seeds(300)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    Frames sent;
    for (std::uint64_t i = 1 + random.below(20); i > 0; --i) {
      const std::size_t most = random.below(3) != 0 ? 60000 : 100;
      sent.emplace_back(random_bytes(random, random.below(FrameHeader::max_bytes + 1)),
                        random_bytes(random, random.below(most)));
    }
    const Bytes stream = stream_of(sent);
    const std::size_t longest_cut = std::size_t{1} << random.below(18);
    const std::size_t buffer_bytes = 1 + random.below(10000);
    std::size_t got = 0;
    FrameReader reader;
    Places places(random);
    const auto on_frame = [&](ConstByteSpan header, ConstByteSpan data) {
      ASSERT_LT(got, sent.size());
      const auto& [sent_header, sent_data] = sent[got++];
      EXPECT_EQ(Bytes(header.begin(), header.end()), sent_header);
      ASSERT_EQ(data.size(), sent_data.size());
      const bool are_equal = std::equal(data.begin(), data.end(), sent_data.begin());
      EXPECT_TRUE(!places.take(data) || are_equal);
    };
    for (std::size_t at = 0; at < stream.size();) {
      const ByteSpan place =
          reader.place([&](ConstByteSpan header, std::size_t bytes) { return places.for_frame(header, bytes); });
      const std::size_t room = place.size() + buffer_bytes;
      const std::size_t cut = std::min({1 + random.below(longest_cut), std::uint64_t{room}, stream.size() - at});
      const ConstByteSpan arrived = ConstByteSpan(stream).subspan(at, cut);
      const std::size_t in_place = std::min(place.size(), cut);
      std::copy_n(arrived.begin(), in_place, place.begin());
      if (in_place != 0) reader.filled(in_place, on_frame);
      if (in_place < cut) reader.read(arrived.subspan(in_place), on_frame);
      at += cut;
    }
    EXPECT_EQ(got, sent.size());
    EXPECT_TRUE(reader.between_frames());
  }
}

TEST(FrameStream, AnUnfinishedFrameShows) {
  const Bytes stream = stream_of({{Bytes(3), Bytes(5)}});
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    FrameReader reader;
    reader.read(ConstByteSpan(stream).first(cut), [](ConstByteSpan, ConstByteSpan) { FAIL(); });
    EXPECT_FALSE(reader.between_frames()) << cut;
  }
}

TEST(FrameStream, WhatPromisesTooMuchIsRefusedBeforeItIsKept) {
  for (const std::size_t promise : {FrameHeader::max_bytes + 1, 1 + ((most_piece_bytes + 1) << 12U),
                                    std::size_t{0xFFFFF000}, std::size_t{0xFFFFFFFF}}) {
    FramePrefix prefix;
    for (unsigned i = 0; i < 4; ++i) prefix[i] = static_cast<std::byte>(promise >> (8U * i));
    const auto nothing = [](ConstByteSpan, ConstByteSpan) { FAIL(); };
    EXPECT_THROW(FrameReader().read(prefix, nothing), Error);
    FrameReader in_pieces;
    in_pieces.read(ConstByteSpan(prefix).first(3), nothing);
    EXPECT_THROW(in_pieces.read(ConstByteSpan(prefix).subspan(3), nothing), Error);
  }
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
