#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/group.h"
#include "stretto/collective/reduction.h"
#include "stretto/core/future.h"
#include "stretto/core/node.h"

/// Collective operations, deferred: each member of a group calls the same operation, in the same order for a group and
/// key, and gets an event that triggers when its own part of the result is there and its buffers may be reused.
///
/// Buffers belong to the caller and must live until then. Input and output may be the same memory. Callable from any
/// thread. Misuse that one node can see throws Error(invalid_argument): a node outside of its group, sizes that do not
/// fit. What nodes do differently poisons the event on both sides with Error(mismatch); a member that dies, with
/// Error(peer_lost).
namespace stretto {

namespace detail {

void require_size(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t should_be);

template <class T>
CollectiveCall make_call(schedule::Operation operation, std::span<const T> input, std::span<T> output) {
  CollectiveCall call;
  call.operation = operation;
  call.input = std::as_bytes(input);
  call.output = std::as_writable_bytes(output);
  call.element_bytes = sizeof(T);
  call.type_digest = type_digest<T>();
  return call;
}

}  // namespace detail

/// Triggers when every member has called it.
inline Event barrier(Node& node, const Group& group, const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call;
  call.operation = schedule::Operation::barrier;
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// Copies `data` of the member of rank `root` to the others' `data`, of the same size.
template <Element T>
Event broadcast(Node& node, const Group& group, std::span<T> data, Rank root = 0,
                const CollectiveOptions& options = CollectiveOptions()) {
  CollectiveCall call = detail::make_call<T>(schedule::Operation::broadcast, data, data);
  call.root = root;
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// output[i] = input[i] of rank 0 (+) input[i] of rank 1 (+) ..., at rank `root`; others may pass an empty output.
template <Element T, class Op>
  requires ReductionOperator<Op, T>
Event reduce(Node& node, const Group& group, std::span<const T> input, std::span<T> output, const Op& op, Rank root = 0,
             const CollectiveOptions& options = CollectiveOptions()) {
  if (group.rank_of(node.id()) == root) detail::require_size("reduce", "output", output.size(), input.size());
  CollectiveCall call = detail::make_call<T>(schedule::Operation::reduce, input, output);
  call.root = root;
  call.reduction = make_reduction<T>(op);
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// The same, at every member. All get the same bits.
template <Element T, class Op>
  requires ReductionOperator<Op, T>
Event allreduce(Node& node, const Group& group, std::span<const T> input, std::span<T> output, const Op& op,
                const CollectiveOptions& options = CollectiveOptions()) {
  detail::require_size("allreduce", "output", output.size(), input.size());
  CollectiveCall call = detail::make_call<T>(schedule::Operation::allreduce, input, output);
  call.reduction = make_reduction<T>(op);
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// The same, where this node contributes several inputs (its shards), which are combined in their order first.
template <Element T, class Op>
  requires ReductionOperator<Op, T>
Event allreduce(Node& node, const Group& group, std::span<const std::span<const T>> shards, std::span<T> output,
                const Op& op, const CollectiveOptions& options = CollectiveOptions()) {
  if (shards.empty()) throw Error(ErrorCode::invalid_argument, "allreduce: a node contributes at least one shard");
  for (const std::span<const T> shard : shards) {
    detail::require_size("allreduce", "shard", shard.size(), output.size());
  }
  CollectiveCall call = detail::make_call<T>(schedule::Operation::allreduce, shards.front(), output);
  for (const std::span<const T> shard : shards.subspan(1)) call.shards.push_back(std::as_bytes(shard));
  call.reduction = make_reduction<T>(op);
  return CollectiveService::of(node).start(group, std::move(call), options);
}

/// All-reduce of one value.
template <Element T, class Op>
  requires ReductionOperator<Op, T>
Future<T> allreduce(Node& node, const Group& group, const T& value, const Op& op,
                    const CollectiveOptions& options = CollectiveOptions()) {
  auto state = std::make_shared<typename Future<T>::State>();
  state->value = value;
  const std::span<T> place(&*state->value, 1);
  CollectiveCall call = detail::make_call<T>(schedule::Operation::allreduce, place, place);
  call.reduction = make_reduction<T>(op);
  call.keep_alive = state;
  return {CollectiveService::of(node).start(group, std::move(call), options), state};
}

/// output = input of rank 0, input of rank 1, ...: output.size() == group.size() * input.size().
template <Element T>
Event allgather(Node& node, const Group& group, std::span<const T> input, std::span<T> output,
                const CollectiveOptions& options = CollectiveOptions()) {
  detail::require_size("allgather", "output", output.size(), input.size() * group.size());
  return CollectiveService::of(node).start(group, detail::make_call<T>(schedule::Operation::allgather, input, output),
                                           options);
}

}  // namespace stretto
