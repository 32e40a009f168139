#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "stretto/collective/group.h"
#include "stretto/collective/wire.h"
#include "stretto/fabric/item.h"

namespace stretto {

/// Where the members of a stream meet for calls that none can end before all have come, if all are nodes of one process
/// (decision 49): who comes last does the steps of all. A member that does a call in any other way, or another call,
/// passes by; then those who wait for it there go on by themselves, each as it would have without a meeting.
///
/// A state machine: calls in, those who are to go on out, linked as items are. Who has left its data behind may be a
/// call ahead of the others, so two calls may be met for at a time. Any thread.
class Meeting {
 public:
  enum class Arrival : std::uint8_t {
    waits,    ///< for the others
    is_last,  ///< all have come
    refused,  ///< there is no meeting for this call
  };

  /// Who has come for a call.
  struct Member {
    Rank rank = 0;
    fabric::Item* call = nullptr;
  };

  /// For calls of a group of `size`, from number `first` on (see Stream).
  Meeting(Rank size, std::uint32_t first) : size_(size), seats_(std::size_t{size} * most_open), first_open_(first) {}

  /// `rank` comes for a call. If it is the last one, `all` gets everybody, in the order in which they came. If it is
  /// refused, those who waited for it are added to `released`. REQUIRES: all.size() is the group's.
  Arrival arrive(Rank rank, const Identity& identity, fabric::Item& call, std::span<Member> all,
                 fabric::Item*& released) noexcept {
    const std::lock_guard lock(mutex_);
    const std::uint32_t sequence = identity.sequence;
    if (is_before(sequence, first_open_)) return Arrival::refused;
    Open& open = open_[sequence % most_open];
    if (open.come == 0) {
      open.sequence = sequence;
      open.digest = identity.digest;
    } else if (open.sequence != sequence || open.digest != identity.digest || has_come(open, rank)) {
      close(sequence + 1, released);
      return Arrival::refused;
    }
    seats_of(open)[open.come++] = {rank, &call};
    if (open.come < size_) return Arrival::waits;
    std::ranges::copy(seats_of(open), all.begin());
    failures_ = 0;
    first_open_ = sequence + 1;  // who has come for this one is through with those before
    open.come = 0;
    return Arrival::is_last;
  }

  /// A member has begun its calls up to number `end` without coming here.
  void pass(std::uint32_t end, fabric::Item*& released) noexcept {
    const std::lock_guard lock(mutex_);
    if (is_before(first_open_, end)) close(end, released);
  }

  /// Who has not come for call `sequence`; nobody where no one waits for that.
  std::vector<Rank> missing(std::uint32_t sequence) const;

 private:
  // A call that some have come for, but not all.
  struct Open {
    Rank come = 0;  // so many; their seats are taken one after the other
    std::uint32_t sequence = 0;
    std::uint32_t digest = 0;
  };
  static constexpr std::uint32_t most_open = 2;

  // Numbers wrap around.
  static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

  std::span<Member> seats_of(const Open& open) noexcept {
    return std::span(seats_).subspan(open.sequence % most_open * size_, size_);
  }
  std::span<const Member> waiting(const Open& open) const noexcept {
    return std::span(seats_).subspan(open.sequence % most_open * size_, open.come);
  }
  bool has_come(const Open& open, Rank rank) const noexcept {
    return std::ranges::find(waiting(open), rank, &Member::rank) != waiting(open).end();
  }
  void close(std::uint32_t end, fabric::Item*& released) noexcept;
  bool release_before_first_open(fabric::Item*& released) noexcept;

  mutable std::mutex mutex_;
  Rank size_;
  std::array<Open, most_open> open_;  // by sequence, modulo that
  std::vector<Member> seats_;         // likewise
  std::uint32_t first_open_;          // for calls before this one there is no meeting any more
  std::uint32_t failures_ = 0;        // meetings in a row to which not all came
};

/// Those of a process, by stream. Any thread.
class Meetings {
 public:
  /// That of a stream; made now if it is not there. Throws std::bad_alloc. `next`: its next call.
  Meeting& of(std::uint64_t stream, Rank size, std::uint32_t next) {
    const std::lock_guard lock(mutex_);
    return meetings_.try_emplace(stream, size, next).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Meeting> meetings_;  // determinism: looked up only
};

}  // namespace stretto
