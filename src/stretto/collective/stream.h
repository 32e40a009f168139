#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan_cache.h"
#include "stretto/collective/preparation.h"
#include "stretto/collective/saved_messages.h"
#include "stretto/collective/sequence_table.h"
#include "stretto/collective/wire.h"

namespace stretto {

class CollectiveOperation;
class Meeting;

/// The collectives of one group and key at one node (decision 1): numbered in the order of the calls, with those that
/// are under way and what has come for those that have not begun. Lasts as long as the job, since the next call has the
/// next number, and there may be one for each of a million keys: it holds little. Under the node's baton.
class Stream {
 public:
  /// `first`: the number of the first call. Numbers wrap around.
  Stream(std::uint64_t id, std::uint32_t first) noexcept : id_(id), calls_(first), first_(first) {}

  std::uint64_t id() const noexcept { return id_; }
  /// That of a group's calls with a key (CollectiveOptions::mixed_key). The same on all nodes.
  static std::uint64_t id_of(const Group& group, std::uint64_t mixed_key) noexcept {
    return group.hash().low ^ mixed_key;
  }

  /// How calls of its group are done, if that was noted: saves a look for it.
  PlanCache::OfGroup* plans() const noexcept { return plans_; }
  void note_plans(PlanCache::OfGroup& plans) noexcept { plans_ = &plans; }

  /// Where its members meet, if that was noted.
  Meeting* meeting() const noexcept { return meeting_; }
  void note_meeting(Meeting& meeting) noexcept { meeting_ = &meeting; }
  /// This node has calls that have their numbers, up to `end`, and does not meet others for them: those who wait for it
  /// go on by themselves.
  void pass_meeting(std::uint32_t end) const {
    if (meeting_ != nullptr) pass_by(*meeting_, end);
  }
  bool has_calls() const noexcept { return calls_ != first_; }
  /// Whether something has come for the next call.
  bool is_awaited() noexcept { return is_open(calls_); }

  /// Sees to it that the next call takes no memory, from its number on to its end. It stands for so many. Where there
  /// is none it throws, and nothing has changed.
  void make_room(std::uint32_t calls) {
    if (!open_.has_room(calls) || past_.size() < calls_ % most_past + calls) add_room(calls);
  }
  /// The number of the next call.
  std::uint32_t next_sequence() const noexcept { return calls_; }
  /// Takes it. Of a call that stands for several, the others have the next numbers.
  std::uint32_t take_sequence(std::uint32_t calls) noexcept { return std::exchange(calls_, calls_ + calls); }
  /// Such a call does not begin yet. REQUIRES: there was room for it, and it has just taken its number.
  void put_off(std::uint32_t sequence, std::uint32_t calls) noexcept;
  Identity identify(std::uint32_t sequence, const Preparation& prepared) const noexcept {
    return {id_, sequence, prepared.digest};
  }

  // All that has a number has begun, unless it was put off.

  /// An operation that has begun and is not over, or null.
  CollectiveOperation* find(std::uint32_t sequence) noexcept {
    const Call* const call = open_.find(sequence);
    return call == nullptr ? nullptr : call->operation;
  }
  /// Whether a call has taken that number.
  bool has_number(std::uint32_t sequence) const noexcept { return static_cast<std::int32_t>(sequence - calls_) < 0; }
  bool has_begun(std::uint32_t sequence) noexcept {
    if (!has_number(sequence)) return false;
    const Call* const call = open_.find(sequence);
    return call == nullptr || !call->is_put_off;
  }
  /// Returns whether something has come for it. REQUIRES: there was room for it when it took its number.
  bool begin(std::uint32_t sequence, CollectiveOperation& operation) noexcept {
    Call& call = open_.find_or_add(sequence);
    call.operation = &operation;
    call.is_put_off = false;
    return !call.early.empty();
  }
  /// Offers what has come for a call that has not begun (see SavedMessages::use_one).
  template <class Use>
  bool use_one_early(std::uint32_t sequence, Use&& use) {
    Call* const call = open_.find(sequence);
    return call != nullptr && call->early.use_one(use);
  }
  /// REQUIRES: something has come for it.
  SavedMessages take_early(std::uint32_t sequence) noexcept { return std::move(open_.find(sequence)->early); }
  void end(const Identity& identity, const std::source_location& where) noexcept {
    open_.remove(identity.sequence);
    note_past(identity, where);
  }
  /// Notes what a call was that is over, or that is no more than a number, and where it was called.
  void note_past(const Identity& identity, const std::source_location& where) noexcept {
    past_[identity.sequence % most_past] = {identity.sequence, identity.digest, where};
  }
  /// Whether an operation is open for a number, or put off, or something has come for it.
  bool is_open(std::uint32_t sequence) noexcept { return open_.find(sequence) != nullptr; }
  /// Ends a number that no operation was open for. Returns what has come for it.
  SavedMessages pass(std::uint32_t sequence) noexcept {
    SavedMessages early;
    if (Call* const known = open_.find(sequence)) {
      early = std::move(known->early);
      open_.remove(sequence);
    }
    return early;
  }
  /// Keeps a message for an operation that has not begun.
  void save(std::uint32_t sequence, const fabric::Message& message);

  /// What is known of an operation that is over.
  struct Past {
    std::uint32_t sequence = ~std::uint32_t{0};
    std::uint32_t digest = 0;
    std::source_location where;
  };
  /// Null: it is not one of the last ones.
  const Past* past(std::uint32_t sequence) const noexcept;

  /// Returns what was kept of a peer for one operation.
  SavedMessages take_messages_of(NodeId peer, std::uint32_t sequence);
  /// Drops all that was kept of a peer.
  void forget_messages_of(NodeId peer);

 private:
  struct Call {
    std::uint32_t sequence = 0;
    bool is_put_off = false;
    CollectiveOperation* operation = nullptr;
    SavedMessages early;
  };
  static constexpr std::size_t most_past = 64;

  void add_room(std::uint32_t calls);
  static void pass_by(Meeting& meeting, std::uint32_t end);

  std::uint64_t id_;
  std::uint32_t calls_;
  std::uint32_t first_;
  SequenceTable<Call> open_;  // begun and not over, put off, or spoken of by peers
  std::vector<Past> past_;    // by sequence, modulo most_past
  PlanCache::OfGroup* plans_ = nullptr;
  Meeting* meeting_ = nullptr;
};

}  // namespace stretto
