#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/reduction.h"

/// How the typed functions of the collective operations become calls of the executor.
namespace stretto::detail {

/// Throws Error(invalid_argument) if they differ.
void require_size(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t should_be);

/// Throws Error(invalid_argument) unless the buffers of rank `me` have the sizes that the operation demands.
void require_fitting(const CollectiveCall& call, schedule::Rank size, schedule::Rank me);

/// Where blocks of so many elements begin, in bytes, and where the last one ends.
/// Throws Error(invalid_argument) if there is not one for each of `ranks`.
std::vector<std::size_t> block_offsets(std::string_view operation, std::span<const std::size_t> counts,
                                       std::size_t ranks, std::size_t element_bytes);

/// The same, as a call's lists.
std::shared_ptr<const CallLists> listed(std::string_view operation, std::span<const std::size_t> counts,
                                        std::size_t ranks, std::size_t element_bytes);

template <Element T>
CollectiveCall make_call(schedule::Operation operation, std::span<const T> input, std::span<T> output) {
  CollectiveCall call;
  call.operation = operation;
  call.input = std::as_bytes(input);
  call.output = std::as_writable_bytes(output);
  call.element_bytes = sizeof(T);
  call.type_digest = type_digest<T>();
  return call;
}

template <Element T, class Op>
CollectiveCall make_call(schedule::Operation operation, std::span<const T> input, std::span<T> output, const Op& op) {
  CollectiveCall call = make_call<T>(operation, input, output);
  call.reduction = make_reduction<T>(op);
  return call;
}

}  // namespace stretto::detail
