#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"

namespace stretto::fabric {

// The messages between a rank (or the agent of a remote host) and the launcher. On the wire: a 32-bit length of what
// follows, one byte that says which message, its fields in order. All numbers little-endian; strings and byte arrays
// are preceded by their 32-bit length. The order of this file is the order of a job's life.

inline constexpr std::uint32_t protocol_magic = 0x54535254;  // "TRST"
inline constexpr std::uint16_t protocol_version = 1;

/// 256 random bits: fresh for each connection, one from each side.
using Nonce = std::array<std::byte, 32>;
/// A keyed hash of the handshake's transcript (see handshake.h).
using Proof = std::array<std::byte, 32>;

/// Who speaks on a connection: a rank, or the agent that starts the ranks of a remote host.
enum class Role : std::uint8_t { rank = 1, agent = 2 };

/// Rank or agent: I would like to join; `number` is the rank, or the index of the host.
struct Hello {
  std::uint32_t magic = protocol_magic;
  std::uint16_t version = protocol_version;
  Role role = Role::rank;
  std::uint32_t number = 0;
  std::uint32_t size = 0;
  Nonce nonce{};
};
/// Launcher: I know the secret, do you?
struct Challenge {
  Nonce nonce{};
  Proof proof{};
};
/// Rank or agent: I do.
struct Response {
  Proof proof{};
};
/// Launcher: admitted.
struct Welcome {};
/// Launcher: the connection ends here, and why.
struct Rejected {
  std::string reason;
};
/// Rank: to be published by my next fence.
struct Put {
  std::string key;
  std::vector<std::byte> value;
};
/// Rank: I arrived at my count-th fence (from 1).
struct Fence {
  std::uint64_t count = 0;
};
/// Launcher: so did all.
struct FenceDone {
  std::uint64_t count = 0;
};
/// Launcher: no fence can complete any more.
struct FenceFailed {
  NodeId rank = 0;
  std::string reason;
};
/// Rank: a question. Several may be under way, and are answered in their order.
struct Get {
  NodeId rank = 0;
  std::string key;
};
/// Launcher: its answer.
struct Value {
  bool found = false;
  std::vector<std::byte> value;
};
/// Launcher: a peer died.
struct Lost {
  NodeId rank = 0;
  std::string reason;
};
/// Rank: end the job.
struct Abort {
  std::string reason;
};
/// Rank: I leave in peace.
struct Goodbye {};
/// Launcher: noted, close now.
struct Farewell {};
/// Agent: a rank's process ended.
struct Exited {
  NodeId rank = 0;
  bool signalled = false;
  std::int32_t code = 0;
};
/// Launcher to agent: pass this signal on.
struct Signal {
  NodeId rank = 0;
  std::int32_t signal = 0;
};

using Message = std::variant<Hello, Challenge, Response, Welcome, Rejected, Put, Fence, FenceDone, FenceFailed, Get,
                             Value, Lost, Abort, Goodbye, Farewell, Exited, Signal>;

/// The largest frame (without its length) before a connection is admitted, and after.
inline constexpr std::size_t max_stranger_frame = 1024;
inline constexpr std::size_t max_frame = (std::size_t{1} << 20U) + 1024;

/// The complete frame, length included.
std::vector<std::byte> encode(const Message& message);

/// One message from a frame without its length. Pure; the bytes may be anything.
/// Error(bad_input): empty, unknown, truncated, trailing bytes, or a field out of range.
Message decode(ConstByteSpan frame);

/// Cuts a stream of bytes into messages; never holds more than one frame beyond what was fed.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t frame_limit) : limit_(frame_limit) {}

  void set_limit(std::size_t frame_limit) { limit_ = frame_limit; }
  void feed(ConstByteSpan bytes);
  /// The next complete message. Error(bad_input) as `decode`, or a length over the limit; the stream is then useless.
  std::optional<Message> next();

 private:
  std::size_t limit_;
  std::size_t begin_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace stretto::fabric
