#pragma once

#include <string_view>

#include "stretto/collective/group.h"

namespace stretto {

/// Who gives and who gets in a general reduce: any participants, any receivers, in or out of them (the Aspen paper,
/// section 3.2). A value that every node can make for itself; worth keeping where it is used again.
class ReduceGroups {
 public:
  /// Terms are combined in the order of the participants, but those that receive come first: where that is another
  /// order, an operator that does not commute is refused (require_order).
  ReduceGroups(const Group& participants, const Group& receivers);

  /// All of them: first the participants that receive, then those that don't, then the other receivers.
  const Group& members() const noexcept { return members_; }
  Rank participants() const noexcept { return participants_; }
  /// Participants that receive.
  Rank inner_receivers() const noexcept { return inner_receivers_; }
  bool participates(NodeId node) const noexcept { return members_.rank_of(node) < participants_; }
  bool receives(NodeId node) const noexcept;

  /// Throws Error(invalid_argument) where the operator needs the order of the participants and this is another one.
  /// `call`: what the error begins with.
  void require_order(bool commutative, std::string_view call = "reduce") const;

 private:
  Group members_;
  Rank participants_;
  Rank inner_receivers_;
  bool in_order_;  // the members begin with the participants as they were given
};

}  // namespace stretto
