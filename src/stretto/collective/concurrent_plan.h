#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/concurrent.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/selector.h"

namespace stretto {

/// How a list of general reduces is done: the same on all nodes that pass the list. Immutable.
struct ConcurrentPlan {
  /// Reduces that travel as one, or a single one.
  struct Set {
    std::vector<std::size_t> calls;            ///< places in the list
    std::shared_ptr<const CallOfSet> planned;  ///< of the one call that they make
  };
  std::vector<Set> sets;  ///< by their first calls

  /// A pure function of the groups, sizes, types and kinds of operators. `named`: an algorithm supports all calls; if
  /// there is none, `selector` chooses one for each.
  ConcurrentPlan(const std::vector<ReduceCall>& calls, const Named& named, Together together, Selector& selector);
};

/// The plans that a node has used of late. Any thread may call it.
class ConcurrentPlans {
 public:
  std::shared_ptr<const ConcurrentPlan> find_or_make(const std::vector<ReduceCall>& calls, const Named& named,
                                                     Together together, Selector& selector);

 private:
  // What a plan depends on.
  struct CallKey {
    Hash128 members;
    Rank participants;
    Rank inner_receivers;
    std::size_t bytes;
    std::uint64_t type_digest;
    std::uint64_t operator_digest;
    std::uint32_t fingerprint;
    bool commutative;
    bool reproducible;
    bool may_be_fused;
    friend bool operator==(const CallKey&, const CallKey&) = default;
  };
  struct Known {
    std::vector<CallKey> calls;
    Named named;
    Together together;
    std::shared_ptr<const ConcurrentPlan> plan;
  };
  static constexpr std::size_t most_known = 16;

  static CallKey key_of(const ReduceCall& call) noexcept;
  static bool is_for(const Known& known, const std::vector<ReduceCall>& calls, const Named& named,
                     Together together) noexcept;

  std::mutex mutex_;
  std::vector<Known> known_;  // the one last used first
};

}  // namespace stretto
