#pragma once

#include <algorithm>
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
/// A state machine: calls in, those who are to go on out, linked as items are. One call is met for at a time. Any
/// thread.
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
  Meeting(Rank size, std::uint32_t first) : seats_(size), first_open_(first) {}

  /// `rank` comes for a call. If it is the last one, `all` gets everybody, in the order in which they came. If it is
  /// refused, those who waited for it are added to `released`. REQUIRES: all.size() is the group's.
  Arrival arrive(Rank rank, const Identity& identity, fabric::Item& call, std::span<Member> all,
                 fabric::Item*& released) noexcept {
    const std::lock_guard lock(mutex_);
    if (is_before(identity.sequence, first_open_)) return Arrival::refused;
    if (come_ == 0) {
      sequence_ = identity.sequence;
      digest_ = identity.digest;
    } else if (identity.sequence != sequence_ || identity.digest != digest_ || has_come(rank)) {
      close(identity.sequence + 1, released);
      return Arrival::refused;
    }
    seats_[come_++] = {rank, &call};
    if (come_ < seats_.size()) return Arrival::waits;
    std::copy(seats_.begin(), seats_.end(), all.begin());
    failures_ = 0;
    first_open_ = sequence_ + 1;
    come_ = 0;
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
  // Numbers wrap around.
  static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

  std::span<const Member> waiting() const noexcept { return {seats_.data(), come_}; }
  bool has_come(Rank rank) const noexcept {
    return std::ranges::find(waiting(), rank, &Member::rank) != waiting().end();
  }
  void close(std::uint32_t end, fabric::Item*& released) noexcept;

  mutable std::mutex mutex_;
  std::vector<Member> seats_;   // taken one after the other
  Rank come_ = 0;               // so many are
  std::uint32_t sequence_ = 0;  // of the call that they have come for
  std::uint32_t digest_ = 0;    // likewise
  std::uint32_t first_open_;    // for calls before this one there is no meeting any more
  std::uint32_t failures_ = 0;  // meetings in a row to which not all came
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
