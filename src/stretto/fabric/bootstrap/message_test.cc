#include "stretto/fabric/bootstrap/message.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"
#include "stretto/base/random.h"
#include "stretto/fabric/bootstrap/bootstrap.h"

namespace stretto::fabric {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

template <std::size_t... index>
std::vector<Message> one_of_each(std::index_sequence<index...>) {
  return {Message(std::in_place_index<index>)...};
}

/// Every kind of message with its default fields, and some with all fields filled in.
std::vector<Message> examples() {
  std::vector<Message> all = one_of_each(std::make_index_sequence<std::variant_size_v<Message>>());
  all[Message(Signal{}).index()] = Signal{3, 15};
  Nonce nonce{};
  nonce.fill(std::byte{0xAB});
  all.emplace_back(Hello{protocol_magic, 9, Role::agent, 65535, 65536, nonce});
  all.emplace_back(Challenge{nonce, nonce});
  all.emplace_back(Response{nonce});
  all.emplace_back(Rejected{"because"});
  all.emplace_back(Put{"a key", some_bytes(300)});
  all.emplace_back(Fence{0x0123456789ABCDEFU});
  all.emplace_back(FenceFailed{7, "it died"});
  all.emplace_back(Get{12, "a key"});
  all.emplace_back(Value{true, some_bytes(Bootstrap::max_value_bytes)});
  all.emplace_back(Lost{4, "killed"});
  all.emplace_back(Abort{"no more"});
  all.emplace_back(Exited{4, true, 9});
  return all;
}

ConstByteSpan payload(const std::vector<std::byte>& frame) { return ConstByteSpan(frame).subspan(4); }

TEST(Message, ReadsBackWhatWasWritten) {
  for (const Message& message : examples()) {
    const auto frame = encode(message);
    const Message copy = decode(payload(frame));
    EXPECT_EQ(copy.index(), message.index());
    EXPECT_EQ(encode(copy), frame) << "message " << message.index();
  }
}

TEST(Message, KeepsEveryField) {
  const auto put = std::get<Put>(decode(payload(encode(Put{"key", some_bytes(5)}))));
  EXPECT_EQ(put.key, "key");
  EXPECT_EQ(put.value, some_bytes(5));
  const auto exited = std::get<Exited>(decode(payload(encode(Exited{70, true, 11}))));
  EXPECT_EQ(exited.rank, 70U);
  EXPECT_TRUE(exited.signalled);
  EXPECT_EQ(exited.code, 11);
}

TEST(Message, RefusesEveryTruncation) {
  for (const Message& message : examples()) {
    const auto frame = encode(message);
    const std::size_t step = frame.size() > 5000 ? 997 : 1;
    for (std::size_t length = 0; length < payload(frame).size(); length += step) {
      EXPECT_THROW(decode(payload(frame).first(length)), Error) << "message " << message.index() << " at " << length;
    }
  }
}

TEST(Message, RefusesBytesBehindTheEnd) {
  for (const Message& message : examples()) {
    auto frame = encode(message);
    frame.push_back(std::byte{0});
    EXPECT_THROW(decode(payload(frame)), Error) << "message " << message.index();
  }
}

TEST(Message, RefusesUnknownKinds) {
  for (std::size_t kind = std::variant_size_v<Message>; kind < 256; ++kind) {
    const std::array bytes{static_cast<std::byte>(kind)};
    EXPECT_THROW(decode(bytes), Error);
  }
}

TEST(Message, RefusesFieldsOutOfRange) {
  EXPECT_THROW(decode(payload(encode(Hello{1, 1, Role::rank, 0, 1, {}}))), Error);  // foreign magic
  EXPECT_THROW(decode(payload(encode(Hello{protocol_magic, 1, static_cast<Role>(3), 0, 1, {}}))), Error);
  EXPECT_THROW(decode(payload(encode(Put{std::string(Bootstrap::max_key_bytes + 1, 'k'), {}}))), Error);
  EXPECT_THROW(decode(payload(encode(Put{"k", some_bytes(Bootstrap::max_value_bytes + 1)}))), Error);
  EXPECT_THROW(decode(payload(encode(Exited{0, false, 256}))), Error);
  EXPECT_THROW(decode(payload(encode(Signal{0, 0}))), Error);
  EXPECT_THROW(decode(payload(encode(Signal{0, 65}))), Error);
}

TEST(Message, ShortensAReasonToWhatAStrangerMayReceive) {
  const auto frame = encode(Rejected{std::string(100000, 'x')});
  EXPECT_LE(payload(frame).size(), max_stranger_frame);
  EXPECT_NO_THROW(decode(payload(frame)));
}

/// Whatever the bytes are: a message that can be written again, or an Error; never anything else.
TEST(Message, BearsMutation) {
  Random random(20);
  const std::vector<Message> all = examples();
  for (int round = 0; round < 20000; ++round) {
    auto frame = encode(all[random.below(all.size())]);
    if (frame.size() > 5000) continue;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      frame[4 + random.below(frame.size() - 4)] = static_cast<std::byte>(random.below(256));
    }
    frame.resize(frame.size() - random.below(2) * random.below(frame.size() - 4));
    try {
      const Message message = decode(payload(frame));
      EXPECT_EQ(payload(encode(message)).size(), payload(frame).size());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
    }
  }
}

TEST(FrameDecoder, BearsNoise) {
  Random random(4);
  for (int round = 0; round < 5000; ++round) {
    FrameDecoder decoder(max_stranger_frame);
    try {
      for (int piece = 0; piece < 8; ++piece) {
        std::vector<std::byte> noise(random.below(40));
        for (std::byte& byte : noise) byte = static_cast<std::byte>(random.below(3) == 0 ? random.below(256) : 0);
        decoder.feed(noise);
        while (decoder.next()) {
        }
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
    }
  }
}

TEST(FrameDecoder, CutsAStreamAnywhere) {
  std::vector<std::byte> stream;
  for (int i = 0; i < 3; ++i) {
    const auto frame = encode(Put{"key", some_bytes(20)});
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameDecoder decoder(max_frame);
    int count = 0;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.feed(ConstByteSpan(stream).subspan(at, std::min(piece, stream.size() - at)));
      while (const auto message = decoder.next()) {
        EXPECT_EQ(std::get<Put>(*message).value, some_bytes(20));
        ++count;
      }
    }
    EXPECT_EQ(count, 3);
  }
}

TEST(FrameDecoder, RefusesALengthOverItsLimitBeforeTheBytesCome) {
  FrameDecoder decoder(100);
  const std::array length{std::byte{101}, std::byte{0}, std::byte{0}, std::byte{0}};
  decoder.feed(length);
  EXPECT_THROW(decoder.next(), Error);
}

TEST(FrameDecoder, RefusesAnEmptyFrame) {
  FrameDecoder decoder(100);
  decoder.feed(std::array<std::byte, 4>{});
  EXPECT_THROW(decoder.next(), Error);
}

}  // namespace
}  // namespace stretto::fabric
