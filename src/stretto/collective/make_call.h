#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/collective/buffers.h"
#include "stretto/collective/call_form.h"
#include "stretto/collective/collective_call.h"

/// How the typed functions of the collective operations become calls of the executor.
namespace stretto::detail {

/// Throws Error(invalid_argument) if they differ.
void require_size(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t should_be);

/// Throws Error(invalid_argument) unless the buffers of rank `me` have the sizes that the operation demands.
void require_fitting(const CollectiveCall& call, schedule::Rank size, schedule::Rank me);

/// Throws Error(invalid_argument) for more than memory can hold.
std::size_t bytes_of_elements(std::string_view operation, std::size_t count, std::size_t element_bytes);

/// Where blocks of so many elements begin, in bytes, and where the last one ends. `list`: what the caller calls them.
/// Throws Error(invalid_argument) if there is not one for each of `ranks`, or for more than memory can hold.
std::vector<std::size_t> block_offsets(std::string_view operation, std::string_view list,
                                       std::span<const std::size_t> counts, std::size_t ranks,
                                       std::size_t element_bytes);

/// The same, as a call's lists.
std::shared_ptr<const CallLists> listed(std::string_view operation, std::span<const std::size_t> counts,
                                        std::size_t ranks, std::size_t element_bytes);

/// A call of that form (see CollectiveCall) with these buffers.
template <class Input, class Output>
CollectiveCall call_of(const CallForm& form, Input&& input, Output&& output) {
  CollectiveCall call(form);
  call.input = std::as_bytes(std::span(input));
  call.output = std::as_writable_bytes(std::span(output));
  return call;
}

template <schedule::Operation operation, class Input, OutputBufferLike<Input> Output>
CollectiveCall make_call(Input&& input, Output&& output) {
  return call_of(form_of_movement<operation, ElementOf<Input>>, input, output);
}

template <schedule::Operation operation, class Input, OutputBufferLike<Input> Output, class Op>
CollectiveCall make_call(Input&& input, Output&& output, const Op& op) {
  CollectiveCall call = call_of(form_of_reduction<operation, ElementOf<Input>, Op>, input, output);
  call.operator_state = state_of_operator<ElementOf<Input>>(op);
  return call;
}

}  // namespace stretto::detail
