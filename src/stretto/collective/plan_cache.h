#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/preparation.h"
#include "stretto/schedule/cost_table.h"

namespace stretto {

class CollectiveService;

/// What a node has worked out for the calls of its groups, so that calls that are alike find it again, under whatever
/// key (decision 28). A bounded number of preparations and their plans: what was made longest ago goes first. What
/// little is known of each group stays as long as the job lasts. Under the node's baton.
class PlanCache {
 public:
  static constexpr std::size_t most_of_a_group = 16;
  static constexpr std::size_t most_groups = 64;

  explicit PlanCache(CollectiveService& service) noexcept : service_(service) {}

  /// That of one list of members, by rank of their schedules. This node is one of them.
  class OfGroup {
   public:
    OfGroup(PlanCache& cache, const Group& members);

    /// How this node did a call like this one, if it is known: then this one is as fit as that was.
    Preparation* find(const CollectiveCall& call, const Named& named) noexcept {
      if (preparations_.empty()) return nullptr;
      Preparation* const last = preparations_.front().get();
      return last->key.is_of(call, named) ? last : find_further(call, named);
    }
    /// How this node does a call, as its caller has named it or as the process's selector chooses. Lives until the next
    /// one of any group, or as long as it is in use. REQUIRES: a named algorithm supports the call.
    Preparation& prepare(const CollectiveCall& call, const Named& named);

   private:
    friend class PlanCache;

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

    Preparation* find_further(const CollectiveCall& call, const Named& named) noexcept;
    std::unique_ptr<Preparation> prepare_anew(const CollectiveCall& call, const Named& by_caller);
    const Plan& find_or_make(const PlanKey& key);
    void forget_all_but(std::size_t count);

    PlanCache& cache_;
    Group members_;
    Rank me_;
    schedule::Link link_;
    schedule::Hosts hosts_;
    bool heard_alone_;  // see Endpoint::receive_from
    std::vector<KnownPlan> plans_;
    std::vector<std::unique_ptr<Preparation>> preparations_;  // the one last used first
  };

  OfGroup& of(const Group& members) { return groups_.try_emplace(members.hash().low, *this, members).first->second; }

  /// The same, if there is any.
  OfGroup* find(const Group& members) noexcept {
    const auto found = groups_.find(members.hash().low);
    return found == groups_.end() ? nullptr : &found->second;
  }

  /// How many preparations there are.
  std::size_t held() const noexcept;

 private:
  void note_made_by(OfGroup& group);

  CollectiveService& service_;
  std::unordered_map<std::uint64_t, OfGroup> groups_;  // determinism: looked up only
  std::vector<OfGroup*> holders_;                      // that have any; who made one last first
};

}  // namespace stretto
