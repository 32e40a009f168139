#include "stretto/fabric/cluster/network/frame.h"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/random.h"
#include "stretto/fabric/cluster/network/address.h"

namespace stretto::fabric::cluster::network {
namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

const std::vector<std::byte> some_header = {std::byte{1}, std::byte{2}, std::byte{3}};

Nonce nonce_of(unsigned value) {
  Nonce nonce;
  nonce.fill(static_cast<std::byte>(value));
  return nonce;
}

struct Sample {
  Frame frame;
  std::uint64_t data_bytes;
};

/// One or more frames of each kind.
std::vector<Sample> samples() {
  return {{Greeting{7, false, nonce_of(1), nonce_of(2)}, 0},
          {Greeting{max_nodes - 1, true, nonce_of(3), nonce_of(4)}, 0},
          {Refusal{}, 0},
          {MessageFrame{MessageType::test, {}}, 0},
          {MessageFrame{MessageType::test_reply, some_header}, max_message_bytes - 3},
          {PutPiece{1, 2, 0, 0, 5}, 0},
          {PutPiece{1, huge - 100, 100, 60, huge}, 40},
          {GetRequest{9, 64, huge - 64}, 0},
          {GetPiece{9, 0}, 0},
          {GetPiece{9, 61440}, 100},
          {Goodbye{12345}, 0},
          {GoodbyeAnswer{}, 0}};
}

std::vector<std::byte> bytes_of_frame(const Frame& frame) {
  FrameHeader header;
  encode(frame, header);
  return {header.span().begin(), header.span().end()};
}

void expect_equal(const Frame& a, const Frame& b) {
  ASSERT_EQ(a.index(), b.index());
  std::visit(
      [&]<class F>(const F& frame) {
        if constexpr (std::is_same_v<F, MessageFrame>) {
          EXPECT_EQ(frame.type, std::get<F>(b).type);
          EXPECT_TRUE(std::equal(frame.header.begin(), frame.header.end(), std::get<F>(b).header.begin(),
                                 std::get<F>(b).header.end()));
        } else {
          EXPECT_EQ(frame, std::get<F>(b));
        }
      },
      a);
}

void expect_bad(ConstByteSpan header, std::uint64_t data_bytes, const std::string& part) {
  try {
    (void)decode(header, data_bytes);
    ADD_FAILURE() << "accepted, where this was expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  }
}

TEST(Frames, WhatIsEncodedIsDecoded) {
  for (const Sample& sample : samples()) {
    const std::vector<std::byte> bytes = bytes_of_frame(sample.frame);
    expect_equal(decode(bytes, sample.data_bytes), sample.frame);
  }
}

TEST(Frames, TruncatedAndPaddedFramesAreRefused) {
  for (const Sample& sample : samples()) {
    const std::vector<std::byte> bytes = bytes_of_frame(sample.frame);
    const bool is_message = std::holds_alternative<MessageFrame>(sample.frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      if (is_message && size >= FrameHeader::prefix_bytes) break;  // another message, with a shorter header
      EXPECT_THROW((void)decode(ConstByteSpan(bytes).first(size), sample.data_bytes), Error) << "size " << size;
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    if (!is_message) {
      EXPECT_THROW((void)decode(longer, sample.data_bytes), Error);
    }
  }
}

TEST(Frames, AnOversizedMessageIsRefused) {
  std::vector<std::byte> header = bytes_of_frame(MessageFrame{MessageType::test, some_header});
  expect_bad(header, max_message_bytes - 2, "a payload of 16382 bytes");
  expect_bad(header, huge, "a payload of");
  header.resize(FrameHeader::max_bytes);
  EXPECT_NO_THROW((void)decode(header, 0));
  header.push_back(std::byte{0});
  expect_bad(header, 0, "a header of 257 bytes");
}

TEST(Frames, ImpossibleRangesAreRefused) {
  expect_bad(bytes_of_frame(PutPiece{1, huge - 100, 101, 0, 5}), 10, "wraps around");
  expect_bad(bytes_of_frame(PutPiece{1, 0, 100, 91, 5}), 10, "leaves its put's range");
  expect_bad(bytes_of_frame(PutPiece{1, 0, 100, huge, 5}), 10, "leaves its put's range");
  expect_bad(bytes_of_frame(PutPiece{1, 0, 100, 0, 5}), 101, "leaves its put's range");
  expect_bad(bytes_of_frame(PutPiece{1, 0, 100, 0, 5}), 0, "it is empty");
  expect_bad(bytes_of_frame(GetRequest{1, 2, huge}), 0, "wraps around");
  expect_bad(bytes_of_frame(GetRequest{1, 2, 3}), 1, "comes with data");
  expect_bad(bytes_of_frame(GetPiece{1, huge - 5}), 6, "wraps around");
  expect_bad(bytes_of_frame(Greeting{max_nodes, false, {}, {}}), 0, "node 65536");
  expect_bad(bytes_of_frame(Greeting{1, false, {}, {}}), 5, "comes with data");
  expect_bad(bytes_of_frame(Goodbye{1}), 1, "comes with data");
}

TEST(Frames, UnknownKindsTypesAndVersionsAreRefused) {
  std::vector<std::byte> bytes = bytes_of_frame(MessageFrame{MessageType::test, {}});
  const auto with = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return changed;
  };
  expect_bad(with(0, 0), 0, "unknown kind 0");
  expect_bad(with(0, 9), 0, "unknown kind 9");
  expect_bad(with(0, 255), 0, "unknown kind 255");
  expect_bad(with(1, 64), 0, "type 64 does not exist");
  bytes = bytes_of_frame(Goodbye{1});
  expect_bad(with(1, 1), 0, "its second byte is not zero");
  bytes = bytes_of_frame(Greeting{});
  expect_bad(with(1, 2), 0, "neither first nor an answer");
  expect_bad(with(FrameHeader::prefix_bytes, 1), 0, "wire version 1 where 4 is expected");
}

// Whatever one changes, the result is an error or a frame that says just this: nothing is read past the end, and no
// byte is ignored.
TEST(Frames, MutationsAreRefusedOrMeanWhatTheySay) {
  Random random(11);
  for (const Sample& sample : samples()) {
    const std::vector<std::byte> original = bytes_of_frame(sample.frame);
    for (int round = 0; round < 4000; ++round) {
      std::vector<std::byte> bytes = original;
      const std::uint64_t changes = 1 + random.below(3);
      for (std::uint64_t i = 0; i < changes; ++i) {
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
      }
      if (random.below(4) == 0) bytes.resize(random.below(bytes.size() + 20));
      bytes.shrink_to_fit();  // so that the address sanitizer sees each read past the end
      try {
        const Frame frame = decode(bytes, sample.data_bytes);
        EXPECT_EQ(bytes_of_frame(frame), bytes);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_input);
      }
    }
  }
}

TEST(NetworkAddress, WhatIsEncodedIsDecodedAndTheRestIsRefused) {
  const std::vector<std::byte> carrier(100, std::byte{42});
  const std::vector<std::byte> bytes = encode_address({nonce_of(9), carrier});
  const Address address = decode_address(bytes);
  EXPECT_EQ(address.nonce, nonce_of(9));
  EXPECT_EQ(address.carrier, carrier);
  for (std::size_t size = 0; size <= bytes.size() - carrier.size(); ++size) {
    EXPECT_THROW((void)decode_address(ConstByteSpan(bytes).first(size)), Error) << size;
  }
  std::vector<std::byte> other = bytes;
  other[7] = std::byte{1};
  EXPECT_THROW((void)decode_address(other), Error);
}

TEST(NetworkAddress, NoncesDiffer) { EXPECT_NE(random_nonce(), random_nonce()); }

}  // namespace
}  // namespace stretto::fabric::cluster::network
