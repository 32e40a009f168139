#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/message.h"

namespace stretto::fabric::cluster::network {

/// Chosen at random by each node and published through the bootstrap: who knows it belongs to the job.
using Nonce = std::array<std::byte, 16>;

/// Of all that is said below. What a node publishes names it, and so do greetings.
inline constexpr std::uint8_t wire_version = 4;

// What travels between hosts. Each frame is one active message: a header, encoded here, and data, which stays where it
// is. No frame says who sent it: the connection does.

/// The first frames of a connection, both ways (see Handshake): who its ends claim to be, and the proof.
struct Greeting {
  NodeId node = 0;      ///< the sender
  bool known = false;   ///< whether the sender has seen a good greeting of the receiver
  Nonce sender = {};    ///< the nonce that the sender published
  Nonce receiver = {};  ///< the nonce that the receiver published
  friend bool operator==(const Greeting&, const Greeting&) = default;
};

/// The sender does not accept the connection (any more).
struct Refusal {
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// An active message of the layers above; its payload is the frame's data.
struct MessageFrame {
  MessageType type = MessageType::test;
  ConstByteSpan header;  ///< inside of the memory that was decoded, or to be encoded
};

/// A part of a put, which is the frame's data. The pieces of one put share all fields but `at`.
struct PutPiece {
  std::uint64_t id = 0;     ///< names the put among those of its sender
  Offset target = 0;        ///< of the whole put, in the receiver's segment
  std::uint64_t bytes = 0;  ///< of the whole put
  std::uint64_t at = 0;     ///< where in the put this piece starts
  Notification notification = 0;
  friend bool operator==(const PutPiece&, const PutPiece&) = default;
};

/// Asks for [source, source + bytes) of the receiver's segment.
struct GetRequest {
  std::uint64_t id = 0;  ///< names the get among those of its sender
  Offset source = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const GetRequest&, const GetRequest&) = default;
};

/// A part of the answer to a GetRequest, which is the frame's data.
struct GetPiece {
  std::uint64_t id = 0;
  std::uint64_t at = 0;
  friend bool operator==(const GetPiece&, const GetPiece&) = default;
};

/// The sender leaves the job; this is its last frame but for a GoodbyeAnswer.
struct Goodbye {
  std::uint64_t frames = 0;  ///< messages, pieces and requests that it sent on this connection
  friend bool operator==(const Goodbye&, const Goodbye&) = default;
};

/// All frames that the receiver announced by its Goodbye have been handled.
struct GoodbyeAnswer {
  friend bool operator==(const GoodbyeAnswer&, const GoodbyeAnswer&) = default;
};

using Frame = std::variant<Greeting, Refusal, MessageFrame, PutPiece, GetRequest, GetPiece, Goodbye, GoodbyeAnswer>;

/// A frame's header on the wire: a prefix of two bytes {kind, detail} and its fields, little-endian. Those of a
/// greeting, which comes first, begin with the version of all frames.
struct FrameHeader {
  static constexpr std::size_t prefix_bytes = 2;
  static constexpr std::size_t max_bytes = prefix_bytes + max_header_bytes;

  std::array<std::byte, max_bytes> bytes;
  std::size_t size = 0;

  ConstByteSpan span() const noexcept { return {bytes.data(), size}; }
};

/// REQUIRES: a message's header has at most max_header_bytes.
void encode(const Frame& frame, FrameHeader& into) noexcept;

/// The frame whose header is `header` and that comes with `data_bytes` bytes of data. A pure function of any bytes;
/// throws Error(bad_input), naming what is wrong, for what `encode` could not have made: what it returns has ranges
/// that do not wrap around, and obeys the limits of fabric/message.h.
Frame decode(ConstByteSpan header, std::uint64_t data_bytes);

}  // namespace stretto::fabric::cluster::network
