#pragma once

#include <memory>
#include <ranges>
#include <utility>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/group.h"
#include "stretto/collective/reduction.h"
#include "stretto/core/future.h"
#include "stretto/core/node.h"

/// How the functions of the collective operations serve callers who have a value, and no buffer.
namespace stretto {

/// What may be passed as a value: an element that is no buffer of others.
template <class T>
concept SingleValue = Element<T> && !std::ranges::range<T>;

namespace detail {

/// Starts the call that `make` makes of the future's value, which begins as `value`: its only buffer.
template <class T, class Make>
Future<T> start_on_value(Node& node, const Group& group, T value, const CollectiveOptions& options, const Make& make) {
  auto state = std::make_shared<typename Future<T>::State>();
  state->value = std::move(value);
  CollectiveCall call = make(*state->value);
  call.keep_alive = state;
  return {CollectiveService::of(node).start(group, std::move(call), options), state};
}

}  // namespace detail

}  // namespace stretto
