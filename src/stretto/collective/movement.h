#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/collective/buffers.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/group.h"
#include "stretto/collective/make_call.h"
#include "stretto/collective/value_call.h"
#include "stretto/core/future.h"

/// Collective operations that move data; collective.h says what holds for all of them.
///
/// Where each rank has a block of its own, blocks are of one size, or as long as `counts` says: elements by rank, the
/// same list at all members. A member whose block is empty takes part like any other.
namespace stretto {

/// Copies `data` of the member of rank `root` to the others' `data`, of the same size.
template <OutputBuffer Data>
Event broadcast(Node& node, const Group& group, Data&& data, Rank root = 0,
                const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::broadcast>(data, data);
  call.root = root;
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// Broadcast of one value: that of rank `root`; what others pass is not used.
template <SingleValue T>
Future<T> broadcast(Node& node, const Group& group, const T& value, Rank root = 0,
                    const CollectiveOptions& options = CollectiveOptions()) {
  return detail::start_on_value(node, group, value, options, [root](T& own) {
    const std::span<T> place(&own, 1);
    CollectiveCall call = detail::make_call<schedule::Operation::broadcast>(place, place);
    call.root = root;
    return call;
  });
}

/// output = input of rank 0, input of rank 1, ...: output.size() == group.size() * input.size().
template <InputBuffer Input, OutputBufferLike<Input> Output>
Event allgather(Node& node, const Group& group, Input&& input, Output&& output,
                const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(group, detail::make_call<schedule::Operation::allgather>(input, output),
                                           options);
}

/// The same with blocks of `counts`: output.size() is their sum.
template <InputBuffer Input, OutputBufferLike<Input> Output>
Event allgather(Node& node, const Group& group, Input&& input, Output&& output, std::span<const std::size_t> counts,
                const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::allgather>(input, output);
  call.lists = detail::listed("allgather", counts, group.size(), call.element_bytes());
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// Allgather of one value of each member: they come by rank. Not of bools, whose std::vector is no array.
template <SingleValue T>
  requires(!std::is_same_v<T, bool>)
Future<std::vector<T>> allgather(Node& node, const Group& group, const T& value,
                                 const CollectiveOptions& options = CollectiveOptions()) {
  const Rank me = group.rank_of(node.id());
  return detail::start_on_value(node, group, std::vector<T>(group.size(), value), options, [me](std::vector<T>& all) {
    const std::span<T> own = std::span(all).subspan(std::min<std::size_t>(me, all.size() - 1), 1);
    return detail::make_call<schedule::Operation::allgather>(own, all);
  });
}

/// What an allgather gives, at rank `root` only; others may pass an empty output.
template <InputBuffer Input, OutputBufferLike<Input> Output = std::span<ElementOf<Input>>>
Event gather(Node& node, const Group& group, Input&& input, Output&& output, Rank root = 0,
             const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::gather>(input, output);
  if (group.rank_of(node.id()) != root) call.output = {};
  call.root = root;
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// The same with blocks of `counts`.
template <InputBuffer Input, OutputBufferLike<Input> Output = std::span<ElementOf<Input>>>
Event gather(Node& node, const Group& group, Input&& input, Output&& output, std::span<const std::size_t> counts,
             Rank root = 0, const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::gather>(input, output);
  if (group.rank_of(node.id()) != root) call.output = {};
  call.root = root;
  call.lists = detail::listed("gather", counts, group.size(), call.element_bytes());
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// Gather of one value of each member: they come by rank, at the root; at others the future has nothing that counts.
/// Not of bools, whose std::vector is no array.
template <SingleValue T>
  requires(!std::is_same_v<T, bool>)
Future<std::vector<T>> gather(Node& node, const Group& group, const T& value, Rank root = 0,
                              const CollectiveOptions& options = CollectiveOptions()) {
  const Rank me = group.rank_of(node.id());
  const std::size_t size = me == root ? group.size() : 1;
  return detail::start_on_value(node, group, std::vector<T>(size, value), options, [=](std::vector<T>& all) {
    const std::span<T> own = std::span(all).subspan(std::min<std::size_t>(me, all.size() - 1), 1);
    CollectiveCall call = detail::make_call<schedule::Operation::gather>(own, all);
    if (me != root) call.output = {};
    call.root = root;
    return call;
  });
}

/// Rank r gets the r-th part of the input of rank `root`: there input.size() == group.size() * output.size(); others
/// may pass an empty input.
template <OutputBuffer Output, InputBufferLike<Output> Input = std::span<const ElementOf<Output>>>
Event scatter(Node& node, const Group& group, Input&& input, Output&& output, Rank root = 0,
              const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::scatter>(input, output);
  if (group.rank_of(node.id()) != root) call.input = {};
  call.root = root;
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// The same with blocks of `counts`.
template <OutputBuffer Output, InputBufferLike<Output> Input = std::span<const ElementOf<Output>>>
Event scatter(Node& node, const Group& group, Input&& input, Output&& output, std::span<const std::size_t> counts,
              Rank root = 0, const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::scatter>(input, output);
  if (group.rank_of(node.id()) != root) call.input = {};
  call.root = root;
  call.lists = detail::listed("scatter", counts, group.size(), call.element_bytes());
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// Scatter of one value to each member: rank r's future has values[r] of the root. Others may pass an empty buffer.
template <InputBuffer Input>
  requires SingleValue<ElementOf<Input>>
Future<ElementOf<Input>> scatter(Node& node, const Group& group, Input&& values, Rank root = 0,
                                 const CollectiveOptions& options = CollectiveOptions()) {
  using T = ElementOf<Input>;
  return detail::start_on_value(node, group, T{}, options, [&](T& own) {
    CollectiveCall call = detail::make_call<schedule::Operation::scatter>(values, std::span<T>(&own, 1));
    if (group.rank_of(node.id()) != root) call.input = {};
    call.root = root;
    return call;
  });
}

/// The j-th part of rank i's input becomes the i-th part of rank j's output. Both have group.size() parts of one size.
/// In place the input is copied first.
template <InputBuffer Input, OutputBufferLike<Input> Output>
Event all_to_all(Node& node, const Group& group, Input&& input, Output&& output,
                 const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(group, detail::make_call<schedule::Operation::all_to_all>(input, output),
                                           options);
}

/// The same with parts of any size: this member gives input_counts[j] elements to rank j, and gets output_counts[i]
/// from rank i, which gives it as many; from itself, too. In place both lists are the same.
template <InputBuffer Input, OutputBufferLike<Input> Output>
Event all_to_all(Node& node, const Group& group, Input&& input, std::span<const std::size_t> input_counts,
                 Output&& output, std::span<const std::size_t> output_counts,
                 const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<schedule::Operation::all_to_all>(input, output);
  call.lists = std::make_shared<const CallLists>(
      CallLists{detail::block_offsets("all_to_all", "input_counts", input_counts, group.size(), call.element_bytes()),
                detail::block_offsets("all_to_all", "output_counts", output_counts, group.size(), call.element_bytes()),
                {}});
  return CollectiveService::of(node).start(group, std::move(call), options);
}

}  // namespace stretto
