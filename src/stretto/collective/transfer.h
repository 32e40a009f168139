#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/collective/plan.h"
#include "stretto/collective/staging_window.h"
#include "stretto/fabric/offset.h"
#include "stretto/schedule/shape.h"

namespace stretto {

/// What an operation sends, or tells a peer of, in one go under the baton, so that small operations overtake. Who has
/// no more than that is not waited for as one that takes long (see Context::engage).
inline constexpr std::size_t piece_bytes = std::size_t{64} << 10U;
/// The same of what is copied or combined in memory, or staged where each side waits for the other (decision 78).
inline constexpr std::size_t memory_piece_bytes = std::size_t{128} << 10U;
/// The same of what takes less time where it is more at once: what the kernel copies from another process (decision
/// 69), and what is combined and written to a peer at once (decision 70).
inline constexpr std::size_t large_piece_bytes = std::size_t{256} << 10U;
/// Of what one of two ranks gives the other one a call does so much itself: combining takes about twice as long as
/// copying (decision 80).
constexpr std::size_t most_in_a_call(bool is_combined) noexcept {
  return is_combined ? memory_piece_bytes : large_piece_bytes;
}
/// What is lent and staged is so whole up to here; of more its reader is told part by part (decision 66), but where all
/// wait for all.
inline std::size_t most_staged_whole(schedule::Operation operation) noexcept {
  return schedule::waits_for_all(operation) ? piece_bytes : std::size_t{32} << 10U;
}
constexpr std::uint64_t pieces_of(std::size_t bytes) noexcept { return (bytes + piece_bytes - 1) / piece_bytes; }
/// Units of a passing thread's budget (see Context::spend) for moving or combining so many bytes.
constexpr std::uint32_t cost_of(std::size_t bytes) noexcept { return static_cast<std::uint32_t>(bytes >> 10U); }

/// Of staging memory in which a message begins: what else happens there, so that who has read a line last writes it
/// next (decision 57). With a message the other way it is shared: there each side writes over what it has read, so that
/// neither says what it has taken. In messages as its number.
enum class Sharing : std::uint8_t {
  none,
  answers,  ///< what a receiver makes of data comes back to where they are staged
  turns,    ///< each side has staging memory: every other window of a message lies where the other one began
  claims,   ///< its only reader claims what it has read, for whoever is to write there next
};
inline constexpr std::uint64_t kinds_of_sharing = 4;
/// How much a side has granted of what it lends and stages, where that passes by two turns in the call (decision 78).
enum class Turns : std::uint8_t { none, first, both };

/// How far a message has come that is too large to be sent unasked: of a send, what is known of its target; of a
/// receive, of its source.
struct Transfer {
  bool known = false;             ///< the receiver is ready, or the sender has granted something
  bool told = false;              ///< likewise, by us
  bool lent = false;              ///< of a send that is complete: its receiver has not read all of it yet
  std::byte* place = nullptr;     ///< in the peer's memory, where that is mapped
  fabric::Offset private_at = 0;  ///< of a receive: in the peer's memory, where that is not; or 0 (see PrivateReads)
  StagingWindow window;           ///< there, or at `staging`
  std::uint64_t offset = 0;       ///< over a wire: of the target
  std::uint32_t pieces = 0;       ///< over a wire: that have been put, or have come
  std::uint32_t pieces_back = 0;  ///< of those that were put: whose memory is free again
  std::uint64_t landing = 0;      ///< see ReadyHeader; of a receive over a wire: its name
  std::size_t bytes = 0;          ///< sent, copied to staging, granted to us, or landed so far
  std::int64_t staging = -1;      ///< in our segment, where our memory cannot be reached
  /// Of a send that is read in staging memory: by which send its data are copied there. Of a receive that is written
  /// there (see Sharing): likewise.
  std::uint32_t staged_by = Plan::none;
  Sharing offered = Sharing::none;  ///< by the side in whose memory it begins
  Sharing sharing = Sharing::none;  ///< turns are taken if both sides offer them
};

}  // namespace stretto
