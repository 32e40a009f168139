#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/fabric/message.h"

namespace stretto::fabric::cluster {

/// One cache line of a ring: up to `inline_bytes` bytes of a message and, stored last, the *word*. That of a message's
/// first line says what it is, those of its further lines that they are there: who reads is at the first ones while the
/// last ones are written (decision 56).
struct alignas(64) RingLine {
  static constexpr std::size_t inline_bytes = 56;

  std::byte bytes[inline_bytes];
  std::atomic<std::uint64_t> word;
};
static_assert(sizeof(RingLine) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

/// What no message is of.
inline constexpr std::uint8_t no_kind = 0;
/// Kinds below this are message types; those from here on are the transport's own.
inline constexpr std::uint8_t first_own_kind = message_types;

/// What a ring carries beside messages.
enum class OwnKind : std::uint8_t {
  notification = first_own_kind,  ///< header: a Notification; its put is in place already
  put_piece,                      ///< header: PutPieceHeader; payload: the bytes
  get_request,                    ///< header: GetRequestHeader
  get_piece,                      ///< header: GetPieceHeader; payload: the bytes
  multicast_begin,                ///< header: MulticastHeader; the receiver is to read that ring of the sender's, too
  multicast_end,                  ///< in such a ring: its readers are to read on no further
  other_ring,                     ///< what comes next of an edge is in its other ring
};
inline constexpr std::uint8_t end_of_kinds = static_cast<std::uint8_t>(OwnKind::other_ring) + 1;
/// Of no message: what the words of further lines say.
inline constexpr std::uint8_t kind_of_further_lines = 255;
static_assert(end_of_kinds <= kind_of_further_lines);

/// How many lines a message of so many bytes takes.
constexpr std::size_t lines_of(std::size_t bytes) noexcept {
  return bytes == 0 ? 1 : (bytes + RingLine::inline_bytes - 1) / RingLine::inline_bytes;
}

/// What the word of a message's first line says.
struct LineHead {
  std::uint8_t kind = no_kind;
  std::uint16_t header_bytes = 0;
  std::uint16_t payload_bytes = 0;

  std::size_t bytes() const noexcept { return std::size_t{header_bytes} + payload_bytes; }
  std::uint32_t lines() const noexcept { return static_cast<std::uint32_t>(lines_of(bytes())); }

  friend bool operator==(const LineHead&, const LineHead&) = default;
};

/// The most lines that one message takes, and the bytes of so many.
inline constexpr std::uint32_t max_message_lines{lines_of(max_message_bytes)};
inline constexpr std::size_t max_message_line_bytes = max_message_lines * RingLine::inline_bytes;

/// `position` is how many lines of the ring were written before this one, since its start. Its low bits, plus one so
/// that fresh memory matches nothing soon, tell this lap's word from the last one's.
constexpr std::uint64_t sequence_of(std::uint64_t position) noexcept { return (position + 1) & 0xffffffU; }

/// Whether `word` was written to the line at `position`. An all-zero one never was.
constexpr bool holds_sequence(std::uint64_t word, std::uint64_t position) noexcept {
  return (word & 0xffffffU) == sequence_of(position) && word != 0;
}

constexpr std::uint64_t encode_word(const LineHead& head, std::uint64_t position) noexcept {
  return sequence_of(position) | std::uint64_t{head.kind} << 24U | std::uint64_t{head.header_bytes} << 32U |
         std::uint64_t{head.payload_bytes} << 48U;
}

/// What a word says, whatever it is worth.
constexpr LineHead head_in(std::uint64_t word) noexcept {
  return {static_cast<std::uint8_t>(word >> 24U), static_cast<std::uint16_t>(word >> 32U),
          static_cast<std::uint16_t>(word >> 48U)};
}

enum class LineState : std::uint8_t { empty, message, bad };

/// Fits into a register.
struct DecodedLine {
  LineState state = LineState::empty;
  LineHead head;  ///< unless it is empty
};

/// Why a line that says this is bad; empty if it is good. By value: a reference would keep all of them in memory.
std::string_view fault_of(LineHead head) noexcept;

/// Judges a word that was read, once, from memory that a peer writes: a pure function of any two numbers. What it calls
/// a message obeys every limit that the reader's copying relies on.
inline DecodedLine decode_word(std::uint64_t word, std::uint64_t position) noexcept {
  if (!holds_sequence(word, position)) return {};
  const LineHead head = head_in(word);
  const bool is_message_of_above = head.kind != no_kind && head.kind < first_own_kind &&
                                   head.header_bytes <= max_header_bytes && head.bytes() <= max_message_bytes;
  const bool is_good = is_message_of_above || fault_of(head).empty();
  return {is_good ? LineState::message : LineState::bad, head};
}

constexpr std::uint64_t encode_further_word(std::uint64_t position) noexcept {
  return encode_word({kind_of_further_lines, 0, 0}, position);
}

/// The same for the word of a further line.
constexpr LineState state_of_further_word(std::uint64_t word, std::uint64_t position) noexcept {
  if (word == encode_further_word(position)) return LineState::message;
  return holds_sequence(word, position) ? LineState::bad : LineState::empty;
}

// The headers of the transport's own kinds. Every field is a peer's word.
struct PutPieceHeader {
  std::uint64_t target;  ///< of the whole put
  std::uint64_t bytes;   ///< of the whole put
  std::uint64_t at;      ///< where in it this piece starts
  std::uint64_t notification;
};
struct GetRequestHeader {
  std::uint64_t source;
  std::uint64_t bytes;
  std::uint64_t id;
};
struct GetPieceHeader {
  std::uint64_t id;
  std::uint64_t at;
};
struct MulticastHeader {
  std::uint64_t ring;      ///< of those for several peers
  std::uint64_t position;  ///< from where on
};

}  // namespace stretto::fabric::cluster
