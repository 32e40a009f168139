#pragma once

#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/collective/buffers.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/group.h"
#include "stretto/collective/make_call.h"
#include "stretto/collective/reduce_groups.h"
#include "stretto/collective/value_call.h"
#include "stretto/core/future.h"
#include "stretto/core/node.h"

/// Collective operations that combine data; collective.h says what holds for all of them.
///
/// x0 (+) x1 (+) ... is the operator applied to the inputs of rank 0, rank 1, ...; how it is bracketed is not said,
/// but for CollectiveOptions::reproducible. There a scan's result at rank r is that of a reduce of ranks 0 to r, a
/// node's shards are combined from the first to the last before they are its term, and a general reduce has its
/// participants in the order of ReduceGroups::members.
namespace stretto {

/// output[i] = input[i] of rank 0 (+) input[i] of rank 1 (+) ..., at rank `root`: there output.size() == input.size();
/// others may pass an empty output, `{}`.
template <InputBuffer Input, OutputBufferLike<Input> Output = std::span<ElementOf<Input>>,
          ReductionOperator<ElementOf<Input>> Op>
Event reduce(Node& node, const Group& group, Input&& input, Output&& output, const Op& op, Rank root = 0,
             const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::reduce>(input, output, op);
  call.root = root;
  return CollectiveService::of(node).start(group, std::move(call), options);
}

namespace detail {

template <class Input, class Output, class Op>
CollectiveCall general_reduce_call(const Node& node, const ReduceGroups& groups, Input&& input, Output&& output,
                                   const Op& op) {
  CollectiveCall call = make_call<schedule::Operation::general_reduce>(input, output, op);
  if (!groups.participates(node.id())) call.input = {};
  if (!groups.receives(node.id())) call.output = {};
  call.contributors = groups.participants();
  call.inner_receivers = groups.inner_receivers();
  groups.require_order(call.reduction().commutative);
  return call;
}

}  // namespace detail

/// The general reduce: the inputs of all participants, combined, to all receivers, who need not be participants:
/// output[i] = input[i] of the first participant (+) input[i] of the second one (+) ...
///
/// A member passes input if it participates and output if it receives, all of one size; what it passes beyond that is
/// not used, and may be empty. Throws Error(invalid_argument) also where the node is in neither group, and where the
/// operator does not commute and the participants that receive are not listed first (ReduceGroups).
template <InputBuffer Input, OutputBufferLike<Input> Output = std::span<ElementOf<Input>>,
          ReductionOperator<ElementOf<Input>> Op>
Event reduce(Node& node, const ReduceGroups& groups, Input&& input, Output&& output, const Op& op,
             const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(groups.members(),
                                           detail::general_reduce_call(node, groups, input, output, op), options);
}

/// The general reduce of one value: the future of who receives has the result, that of others what they passed.
template <Element T, ReductionOperator<T> Op>
Future<T> reduce(Node& node, const ReduceGroups& groups, const T& value, const Op& op,
                 const CollectiveOptions& options = CollectiveOptions()) {
  return detail::start_on_value(node, groups.members(), value, options, [&](T& own) {
    const std::span<T> place(&own, 1);
    return detail::general_reduce_call(node, groups, place, place, op);
  });
}

namespace detail {

template <schedule::Operation operation, class T, class Op>
Future<T> reduce_value(Node& node, const Group& group, const T& value, const Op& op, const CollectiveOptions& options,
                       Rank root = 0) {
  return start_on_value(node, group, value, options, [&op, root](T& own) {
    const std::span<T> place(&own, 1);
    CollectiveCall call = make_call<operation>(place, place, op);
    call.root = root;
    return call;
  });
}

}  // namespace detail

/// Reduce of one value; at others than the root the future has what they passed.
template <Element T, ReductionOperator<T> Op>
Future<T> reduce(Node& node, const Group& group, const T& value, const Op& op, Rank root = 0,
                 const CollectiveOptions& options = CollectiveOptions()) {
  return detail::reduce_value<schedule::Operation::reduce>(node, group, value, op, options, root);
}

/// The same as a reduce, at every member. All get the same bits.
template <InputBuffer Input, OutputBufferLike<Input> Output, ReductionOperator<ElementOf<Input>> Op>
Event allreduce(Node& node, const Group& group, Input&& input, Output&& output, const Op& op,
                const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(group, detail::make_call<schedule::Operation::allreduce>(input, output, op),
                                           options);
}

/// The same, where this node contributes several inputs (its shards), which are combined in their order first. The
/// output may be the first one; it is apart from all others.
template <OutputBuffer Output, BuffersLike<Output> Shards, ReductionOperator<ElementOf<Output>> Op>
Event allreduce(Node& node, const Group& group, Shards&& shards, Output&& output, const Op& op,
                const CollectiveOptions& options = CollectiveOptions()) {
  std::vector<ConstByteSpan> inputs;
  for (auto&& shard : shards) {
    detail::require_size("allreduce", "shard", std::ranges::size(shard), std::ranges::size(output));
    inputs.push_back(std::as_bytes(std::span(shard)));
  }
  if (inputs.empty()) throw Error(ErrorCode::invalid_argument, "allreduce: a node contributes at least one shard");
  CollectiveCall call = detail::make_call<schedule::Operation::allreduce>(output, output, op);
  call.input = inputs.front();
  inputs.erase(inputs.begin());
  if (!inputs.empty()) {
    CallLists lists;
    lists.shards = std::move(inputs);
    call.lists = std::make_shared<const CallLists>(std::move(lists));
  }
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// All-reduce of one value.
template <Element T, ReductionOperator<T> Op>
Future<T> allreduce(Node& node, const Group& group, const T& value, const Op& op,
                    const CollectiveOptions& options = CollectiveOptions()) {
  return detail::reduce_value<schedule::Operation::allreduce>(node, group, value, op, options);
}

/// Rank r gets the r-th part of what an all-reduce gives: input.size() == group.size() * output.size().
template <InputBuffer Input, OutputBufferLike<Input> Output, ReductionOperator<ElementOf<Input>> Op>
Event reduce_scatter(Node& node, const Group& group, Input&& input, Output&& output, const Op& op,
                     const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(
      group, detail::make_call<schedule::Operation::reduce_scatter>(input, output, op), options);
}

/// The same with parts of any size: `counts` has the elements by rank, the same list at all members.
template <InputBuffer Input, OutputBufferLike<Input> Output, ReductionOperator<ElementOf<Input>> Op>
Event reduce_scatter(Node& node, const Group& group, Input&& input, Output&& output,
                     std::span<const std::size_t> counts, const Op& op,
                     const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::reduce_scatter>(input, output, op);
  call.lists = detail::listed("reduce_scatter", counts, group.size(), call.element_bytes());
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// output[i] = input[i] of rank 0 (+) ... (+) input[i] of this rank.
template <InputBuffer Input, OutputBufferLike<Input> Output, ReductionOperator<ElementOf<Input>> Op>
Event scan(Node& node, const Group& group, Input&& input, Output&& output, const Op& op,
           const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(group, detail::make_call<schedule::Operation::scan>(input, output, op),
                                           options);
}

/// Scan of one value.
template <Element T, ReductionOperator<T> Op>
Future<T> scan(Node& node, const Group& group, const T& value, const Op& op,
               const CollectiveOptions& options = CollectiveOptions()) {
  return detail::reduce_value<schedule::Operation::scan>(node, group, value, op, options);
}

/// output[i] = input[i] of rank 0 (+) ... (+) input[i] of the rank before this one. Rank 0's output is left as it was,
/// and may be empty.
template <InputBuffer Input, OutputBufferLike<Input> Output = std::span<ElementOf<Input>>,
          ReductionOperator<ElementOf<Input>> Op>
Event exscan(Node& node, const Group& group, Input&& input, Output&& output, const Op& op,
             const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(group, detail::make_call<schedule::Operation::exscan>(input, output, op),
                                           options);
}

/// Exscan of one value; at rank 0 the future has what it passed.
template <Element T, ReductionOperator<T> Op>
Future<T> exscan(Node& node, const Group& group, const T& value, const Op& op,
                 const CollectiveOptions& options = CollectiveOptions()) {
  return detail::reduce_value<schedule::Operation::exscan>(node, group, value, op, options);
}

}  // namespace stretto
