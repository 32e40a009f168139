#pragma once

#include <cstdint>
#include <string_view>

namespace stretto {

/// Which collective a message belongs to; every header below begins with it. Taken at the call, so nodes agree without
/// talking.
struct Identity {
  std::uint64_t stream;    ///< of the group's hash and the key
  std::uint32_t sequence;  ///< counts the calls of a stream
  std::uint32_t digest;    ///< of operation, count, type, operator, root, size, algorithm: must be the same everywhere
};

/// What members that disagree about a collective are told: the parts of the digest.
inline constexpr std::string_view what_may_differ = "operation, count, type, operator, root, algorithm or order differ";

/// Data of a step that are small enough to be sent at once: the payload. And, as a hello, nothing: a member waits for a
/// peer that has not heard of it yet; were the two in different operations, both might wait.
struct CallHeader {
  Identity identity;
  std::uint32_t tag;   ///< of the step; 0 in a hello
  std::uint32_t line;  ///< of the sender's call in its source, for reports of mismatches
};

/// A receiver is ready for the data of a step that is too large to be sent unasked: they go to its segment.
struct ReadyHeader {
  CallHeader call;
  std::uint64_t offset;   ///< where in the receiver's segment
  std::uint64_t landing;  ///< the notification for each piece
  std::uint64_t bytes;
};

/// A member's part has failed. The payload is the cause's text.
struct FailedHeader {
  Identity identity;
  std::uint32_t code;  ///< ErrorCode
  std::uint32_t unused;
};

}  // namespace stretto
