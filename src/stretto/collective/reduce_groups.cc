#include "stretto/collective/reduce_groups.h"

#include <algorithm>
#include <string>
#include <vector>

#include "stretto/base/error.h"

namespace stretto {

namespace {

std::vector<NodeId> members_of(const Group& participants, const Group& receivers) {
  std::vector<NodeId> members;
  for (const NodeId node : participants.nodes()) {
    if (receivers.contains(node)) members.push_back(node);
  }
  for (const NodeId node : participants.nodes()) {
    if (!receivers.contains(node)) members.push_back(node);
  }
  for (const NodeId node : receivers.nodes()) {
    if (!participants.contains(node)) members.push_back(node);
  }
  return members;
}

}  // namespace

ReduceGroups::ReduceGroups(const Group& participants, const Group& receivers)
    : members_(members_of(participants, receivers)),
      participants_(participants.size()),
      inner_receivers_(participants.size() + receivers.size() - members_.size()),
      in_order_(std::equal(participants.nodes().begin(), participants.nodes().end(), members_.nodes().begin())) {}

bool ReduceGroups::receives(NodeId node) const noexcept {
  const Rank rank = members_.rank_of(node);
  return rank < inner_receivers_ || (rank >= participants_ && rank < members_.size());
}

void ReduceGroups::require_order(bool commutative, std::string_view call) const {
  if (commutative || in_order_) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(call) +
                  ": an operator that does not commute needs participants that receive to come before those that "
                  "don't; reorder them, or say that it commutes (static constexpr bool commutative = true)");
}

}  // namespace stretto
