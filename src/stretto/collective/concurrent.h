#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/collective/buffers.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/fused_reduce.h"
#include "stretto/collective/make_call.h"
#include "stretto/collective/reduce_groups.h"
#include "stretto/core/node.h"

/// Several general reduces over overlapping nodes, planned together (the Aspen paper, section 3.3). Its Fig. 5:
///
///     const ReduceGroups r1(Group{0, 1, 2, 3}, Group{0, 2});
///     const ReduceGroups r2(Group{1, 2}, Group{3});
///     const std::vector<Event> done = concurrent(node, {reduce_call(r1, n, send1, receive, sum),
///                                                       reduce_call(r2, n, send2, receive, product)});
namespace stretto {

/// A general reduce that has not begun, as one node sees it. Made by reduce_call.
struct ReduceCall {
  ReduceGroups groups;
  FusedReduce::Part part;
};

/// The inputs of all participants, `count` elements each, combined, to all receivers. A node passes input if it
/// participates and output if it receives; what it passes beyond that is not used. The count is said also by nodes that
/// are in neither group, since the plan of the other reduces depends on it. Throws Error(invalid_argument) for one that
/// no memory holds.
template <InputBuffer Input, OutputBufferLike<Input> Output = std::span<ElementOf<Input>>,
          ReductionOperator<ElementOf<Input>> Op>
ReduceCall reduce_call(const ReduceGroups& groups, std::size_t count, Input&& input, Output&& output, const Op& op) {
  using T = ElementOf<Input>;
  ReduceCall result{groups,
                    {detail::make_call<schedule::Operation::general_reduce>(input, output, op),
                     detail::bytes_of_elements("reduce_call", count, sizeof(T)), alignof(T)}};
  result.part.call.contributors = groups.participants();
  result.part.call.inner_receivers = groups.inner_receivers();
  return result;
}

/// What `concurrent` does beside starting the reduces. It changes how long they take, never what they give, but for the
/// rounding of operators that commute, and not that where the options say reproducible.
enum class Together : std::uint8_t {
  as_given,            ///< nothing
  balanced,            ///< says which node takes which rank (schedule/concurrent.h)
  fused,               ///< has small reduces of the same groups, with elementary operators, travel as one
  balanced_and_fused,  ///< both
};

/// Starts all of `calls`, and returns an event for each: that of reduce (reductions.h), and no event where this node is
/// not a member. collective.h says what holds for all collectives; options hold for each call.
///
/// Every member of any of the groups passes the same list, in the same order, with the same `together`; members that do
/// not agree get Error(mismatch). Here no output overlaps a buffer of another one. Each reduce takes its place among
/// the collectives of its members as one of its own would. The plan is kept, and found again by the same list. Throws
/// Error(invalid_argument), and then has started nothing. Any thread may call it.
std::vector<Event> concurrent(Node& node, std::vector<ReduceCall> calls,
                              const CollectiveOptions& options = CollectiveOptions(),
                              Together together = Together::balanced_and_fused);

}  // namespace stretto
