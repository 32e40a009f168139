#pragma once

#include <algorithm>
#include <cstdint>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/transfer.h"
#include "stretto/schedule/lending_limits.h"

/// What a call of a collective is looked at for before it is begun.
namespace stretto {

/// Throws Error(invalid_argument) for misuse by member `me` (the group's size: by nobody of it) of a job of so many
/// nodes. Whoever makes a precondition or names an algorithm answers for that elsewhere.
void require_proper(const Group& group, Rank me, const CollectiveCall& call, const CollectiveOptions& options,
                    std::uint32_t nodes);

/// The algorithm that the options name. Throws Error(invalid_argument) where there is none of that name, or it does not
/// serve such calls. REQUIRES: one is named.
Named named_algorithm(const CollectiveOptions& options, const CollectiveCall& call, const schedule::Shape& shape);

/// Whether it may be done in one go, if it is like a call before that was proper. In line, since small calls are little
/// more.
inline bool is_plain(const CollectiveCall& call, const CollectiveOptions& options) noexcept {
  // What is in place where input and output are of one size.
  const auto are_the_same = [&call] {
    return call.input.data() == call.output.data() && call.input.size() == call.output.size() &&
           schedule::may_be_in_place(call.operation());
  };
  return call.shards().empty() && call.fused() == nullptr && !options.precondition().exists() &&
         !options.auxiliaries() && bytes_of_longer(call) <= schedule::most_of_two_in_one_go &&
         (are_apart(call.input, call.output) || are_the_same());
}

}  // namespace stretto
