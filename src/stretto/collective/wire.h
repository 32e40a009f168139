#pragma once

#include <compare>
#include <cstdint>

namespace stretto {

/// Which collective a message belongs to: the stream (group and key) and the number of the call in it. Taken at the
/// call, so nodes agree without talking.
struct Identity {
  std::uint64_t stream;    ///< of the group's hash and the key
  std::uint32_t sequence;  ///< counts the calls of a stream
  std::uint32_t digest;    ///< of operation, count, type, operator, root, size, algorithm: must be the same everywhere

  // The digest is compared by hand, to report a mismatch.
  friend bool operator<(const Identity& a, const Identity& b) noexcept {
    return a.stream != b.stream ? a.stream < b.stream : a.sequence < b.sequence;
  }
};

/// The data of one step, when small enough to be sent at once. The payload is the data.
struct DataHeader {
  Identity identity;
  std::uint32_t tag;
  std::uint32_t unused;
};

/// A receiver is ready for the data of a step that is too large to be sent unasked: they go to its segment.
struct ReadyHeader {
  Identity identity;
  std::uint32_t tag;
  std::uint32_t unused;
  std::uint64_t offset;   ///< where in the receiver's segment
  std::uint64_t landing;  ///< the notification for each piece
  std::uint64_t bytes;
};

/// A member waits for a peer that has not heard of it yet. Were the two in different operations, both might wait.
struct HelloHeader {
  Identity identity;
};

/// A member's part has failed. The payload is the cause's text.
struct FailedHeader {
  Identity identity;
  std::uint32_t code;  ///< ErrorCode
  std::uint32_t unused;
};

}  // namespace stretto
