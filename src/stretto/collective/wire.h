#pragma once

#include <cstdint>

namespace stretto {

/// Which collective a message belongs to; every header below begins with it. Taken at the call, so nodes agree without
/// talking.
struct Identity {
  std::uint64_t stream;    ///< of the group's hash and the key
  std::uint32_t sequence;  ///< counts the calls of a stream
  std::uint32_t digest;    ///< of operation, count, type, operator, root, size, algorithm: must be the same everywhere

  friend bool operator==(const Identity&, const Identity&) = default;
};

/// Data of a step that are small enough to be sent at once: the payload. Also, without a payload: that they are held,
/// and maybe more after them (`collective_held`), and the answer of a receiver that asks for them (`collective_pull`).
struct CallHeader {
  Identity identity;
  std::uint32_t tag;   ///< of the step
  std::uint32_t line;  ///< of the sender's call in its source, for reports of mismatches
};

/// To whom this node has sent data that nobody had asked for: so much of them has been used (see EagerWindow).
struct UsedHeader {
  std::uint64_t cost;
};

/// A member waits for a peer that has not heard of it yet; were the two in different operations, both might wait. Or,
/// where sizes are nobody else's to compare: it has so many bytes for it, were the peer only ready.
struct HelloHeader {
  CallHeader call;
  std::uint64_t bytes;  ///< 0: says nothing of a step
};

/// A receiver is ready for the data of a step that is too large to be sent unasked: where it wants them.
struct ReadyHeader {
  CallHeader call;
  std::uint64_t offset;  ///< in the receiver's memory, see Endpoint::offset_for_peers
  std::uint64_t
      landing;  ///< over a wire: the notification for each piece; in shared memory: whether to tell each piece
  std::uint64_t bytes;
  std::uint64_t window;   ///< bytes of memory there, see StagingWindow
  std::uint64_t sharing;  ///< with a message the other way: a Sharing
};

/// A sender lets the receiver of a step read its data where they lie. Repeated as more of them become available; the
/// receiver says when it is through (`collective_done`, a CallHeader).
struct GrantHeader {
  CallHeader call;
  std::uint64_t offset;  ///< in the sender's memory
  std::uint64_t bytes;   ///< of the step
  std::uint64_t available;
  std::uint64_t window;   ///< bytes of memory there, see StagingWindow
  std::uint64_t sharing;  ///< with a message the other way: a Sharing
};

/// What a WholeGrantHeader grants. What is staged is so at the sender, for this receiver alone.
enum class Granted : std::uint32_t {
  all,
  all_claimed,  ///< staged; its reader claims it (see Sharing::claims)
  all_staged,   ///< staged, though turns could have been taken (see Sharing::turns)
  first_turn,   ///< of two, where the other side may offer that, too
  last_turn,    ///< after that: all
};
constexpr bool is_turn(Granted granted) noexcept {
  return granted == Granted::first_turn || granted == Granted::last_turn;
}
/// Whether turns could be taken, were the other side's data staged, too.
constexpr bool may_take_turns(Granted granted) noexcept { return is_turn(granted) || granted == Granted::all_staged; }

/// A grant of what is lent (see Lowering::lent): in few bytes, since small calls wait for it. How many of them there
/// are both ends know, or the identities would differ.
struct WholeGrantHeader {
  CallHeader call;
  std::uint64_t offset;          ///< in the sender's memory
  std::uint64_t receipt;         ///< as well: where the receiver may say that it is through (see Receipt)
  std::uint32_t receipt_number;  ///< 0: there is none, a message says it
  Granted granted;
};

/// A sender has written the first `bytes` of a step's data to where the receiver wanted them, in shared memory.
struct LandedHeader {
  CallHeader call;
  std::uint64_t bytes;
};

/// The reader of a step's data has taken the first `bytes` of them out of a window through which they pass. Said as
/// long as the writer waits for it.
struct TakenHeader {
  CallHeader call;
  std::uint64_t bytes;
};

/// A member's part has failed. The payload is the cause's text. Who gets it begins to touch the sender's memory no
/// more, and says when it is through with it if it is asked to (`collective_released`).
struct FailedHeader {
  Identity identity;
  std::uint32_t code;  ///< ErrorCode
  std::uint32_t wants_release;
  std::uint64_t pieces;  ///< that the sender has put over a wire, in all, into the memory of who gets this
};

/// The sender touches the memory of who gets this no more.
struct ReleasedHeader {
  Identity identity;
  std::uint64_t pieces;  ///< of those that it has put over a wire, as many may still be on their way
};

/// In a ReleasedHeader: as many as it was asked for, or, if its part failed, as it has said then.
inline constexpr std::uint64_t all_pieces = ~std::uint64_t{0};

}  // namespace stretto
