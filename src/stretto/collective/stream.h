#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/collective/collective_call.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/preparation.h"
#include "stretto/collective/saved_messages.h"
#include "stretto/collective/sequence_table.h"
#include "stretto/collective/wire.h"
#include "stretto/schedule/cost_table.h"

namespace stretto {

class CollectiveOperation;
class CollectiveService;

/// The collectives of one group and key at one node (CONTRACTS 11): numbered in the order of the calls, with their
/// plans, those that are under way and what has come for those that have not begun. Under the node's baton.
class Stream {
 public:
  explicit Stream(std::uint64_t id) noexcept : id_(id) {}

  std::uint64_t id() const noexcept { return id_; }
  /// The same on all nodes.
  static std::uint64_t id_of(const Group& group, std::uint64_t key) noexcept { return group.hash().low ^ mix_64(key); }

  /// This node's first call says who takes part; peers may have spoken before.
  void join(const Group& group, const CollectiveService& service);

  // REQUIRE: joined.

  /// The number of the next call, which stands for so many; the others have the next numbers.
  std::uint32_t next_sequence(std::uint32_t calls) noexcept { return std::exchange(calls_, calls_ + calls); }
  /// How rank `me` did a call like this one, if it is known: then this one is as fit as that was. Null also before the
  /// first call.
  Preparation* find_preparation(const CollectiveCall& call, Rank me, const Named& named) noexcept {
    for (auto each = preparations_.begin(); each != preparations_.end(); ++each) {
      if (!(*each)->key.is_of(call, size_, me, named)) continue;
      if (each != preparations_.begin()) std::rotate(preparations_.begin(), each, each + 1);
      return preparations_.front().get();
    }
    return nullptr;
  }
  /// How rank `me` of `members` does a call, as its caller has named it or as the process's selector chooses. Lives
  /// until the next one, or as long as it is in use. REQUIRES: a named algorithm supports the call.
  Preparation& prepare(const CollectiveCall& call, const Group& members, Rank me, const Named& named,
                       CollectiveService& service);
  Identity identify(std::uint32_t sequence, const CollectiveCall& call, const Preparation& prepared) const noexcept {
    return {id_, sequence, prepared.key.is_listed ? digest_of(call, prepared.plan) : prepared.digest};
  }

  /// An operation that has begun and is not over, or null.
  CollectiveOperation* find(std::uint32_t sequence) noexcept {
    const Call* const call = open_.find(sequence);
    return call == nullptr ? nullptr : call->operation;
  }
  bool has_begun(std::uint32_t sequence) const;
  /// Returns whether something has come for it.
  bool begin(std::uint32_t sequence, CollectiveOperation& operation) {
    mark_begun(sequence);
    Call& call = open_.find_or_add(sequence);
    call.operation = &operation;
    return !call.early.empty();
  }
  /// REQUIRES: something has come for it.
  SavedMessages take_early(std::uint32_t sequence) { return std::move(open_.find(sequence)->early); }
  void end(const Identity& identity) {
    open_.remove(identity.sequence);
    past_[identity.sequence % past_.size()] = {identity.sequence, identity.digest};
  }
  /// Ends a number that another one stands for. Returns what has come for it.
  SavedMessages pass(const Identity& identity);
  /// Keeps a message for an operation that has not begun.
  void save(std::uint32_t sequence, const fabric::Message& message);

  /// The digest of an operation that is over, if it is one of the last ones.
  std::optional<std::uint32_t> digest_of_past(std::uint32_t sequence) const noexcept;

  /// The numbers of those that have begun and are not over, in order.
  std::vector<std::uint32_t> under_way();
  /// Returns what was kept of a peer for one operation.
  SavedMessages take_messages_of(NodeId peer, std::uint32_t sequence);
  /// Drops all that was kept of a peer.
  void forget_messages_of(NodeId peer);

 private:
  struct Call {
    std::uint32_t sequence = 0;
    CollectiveOperation* operation = nullptr;
    SavedMessages early;
  };
  struct Past {
    std::uint32_t sequence = ~std::uint32_t{0};
    std::uint32_t digest = 0;
  };
  struct PlanKey {
    const schedule::Algorithm* algorithm;
    schedule::Shape shape;
    Rank me;
    friend bool operator==(const PlanKey&, const PlanKey&) = default;
  };
  struct KnownPlan {
    PlanKey key;
    std::unique_ptr<const Plan> plan;
  };
  static constexpr std::size_t most_preparations = 16;

  static std::uint32_t digest_of(const CollectiveCall& call, const Plan& plan) noexcept;
  void forget_a_preparation();
  std::unique_ptr<Preparation> prepare_anew(const CallKey& key, const CollectiveCall& call, const Group& members,
                                            CollectiveService& service);
  const Plan& find_or_make(const PlanKey& key);
  void mark_begun(std::uint32_t sequence) {
    if (sequence == begun_ && begun_beyond_.empty()) {
      ++begun_;
    } else {
      mark_begun_beyond(sequence);
    }
  }
  void mark_begun_beyond(std::uint32_t sequence);

  std::uint64_t id_;
  std::uint32_t calls_ = 0;
  SequenceTable<Call> open_;  // begun and not over, or spoken of by peers
  // Which calls have begun: all before `begun_`, and those in `begun_beyond_`.
  std::uint32_t begun_ = 0;
  std::set<std::uint32_t> begun_beyond_;
  std::array<Past, 64> past_;  // by sequence, modulo its size
  Rank size_ = 0;
  schedule::Link link_ = schedule::Link::local;
  schedule::Hosts hosts_;
  std::vector<KnownPlan> plans_;
  std::vector<std::unique_ptr<Preparation>> preparations_;  // the one last used first
};

}  // namespace stretto
