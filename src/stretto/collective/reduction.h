#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "stretto/base/hash.h"
#include "stretto/collective/kernels.h"
#include "stretto/collective/reduction_operator.h"  // IWYU pragma: export
#include "stretto/core/node.h"
#include "stretto/core/spawn_options.h"

namespace stretto {

/// An operator on a type, as the executor sees it: the same for all operators of one type, which differ in their state.
/// Empty (no combine) for operations that do not reduce.
struct Reduction {
  /// out[i] = left[i] (+) right[i] for `count` aligned elements; `out` may be `left` or `right`. `op`: see
  /// state_of_operator.
  using Combine = void (*)(const void* op, void* out, const void* left, const void* right, std::size_t count);

  /// The same, and once more to `also`, which is apart from `out`, and `left`, `right`, or apart from both.
  using CombineTwice = void (*)(const void* op, void* out, void* also, const void* left, const void* right,
                                std::size_t count);

  /// The same by a task, of which it returns the completion. Throws Error(out_of_resources).
  using Spawn = Event (*)(Node& node, const void* op, void* out, const void* left, const void* right,
                          std::size_t count);

  Combine combine = nullptr;
  CombineTwice combine_twice = nullptr;  ///< of what is not `as_task`
  Spawn spawn = nullptr;                 ///< of a TaskOperator, instead of `combine`
  bool commutative = true;
  bool as_task = false;      ///< user code that may wait, or a TaskOperator: never under a baton
  bool is_function = false;  ///< the state is a function's pointer
  std::uint64_t digest = 0;  ///< of operator and type, the same on all nodes
};

namespace detail {

template <class... T>
consteval std::uint64_t type_digest() {
  return fnv1a_64(std::string_view(__PRETTY_FUNCTION__));
}

/// `store(i, result)` is called for each element, in order.
template <class T, class Op, class Store>
void combine_each(const Op& op, const void* left, const void* right, std::size_t count, const Store& store) {
  const T* const a = static_cast<const T*>(left);
  const T* const b = static_cast<const T*>(right);
  // What is stored to is one of the others or apart from both, so that no element depends on another one.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) store(i, op(a[i], b[i]));
}

template <class T, class Op>
void combine_all(const Op& op, void* out, const void* left, const void* right, std::size_t count) {
  combine_each<T>(op, left, right, count,
                  [to = static_cast<T*>(out)](std::size_t i, const T& result) { to[i] = result; });
}

template <class T, class Op>
void combine_all_twice(const Op& op, void* out, void* also, const void* left, const void* right, std::size_t count) {
  combine_each<T>(op, left, right, count,
                  [to = static_cast<T*>(out), too = static_cast<T*>(also)](std::size_t i, const T& result) {
                    to[i] = result;
                    too[i] = result;
                  });
}

inline constexpr int priority_of_collectives = 100;

template <class T, class Op>
Event spawn_operator(Node& node, const void* op, void* out, const void* left, const void* right, std::size_t count) {
  const auto combine = [&op = *static_cast<const Op*>(op), to = std::span(static_cast<T*>(out), count),
                        a = std::span(static_cast<const T*>(left), count),
                        b = std::span(static_cast<const T*>(right), count)](Node& here) { return op(here, to, a, b); };
  return node.spawn(combine, SpawnOptions().priority(priority_of_collectives));
}

/// Whether `combine` goes without an operator that was made before.
template <class T, class Op>
constexpr bool is_stateless() {
  if constexpr (TaskOperator<Op, T>) {
    return false;
  } else {
    return (kernels::Number<T> && kernels::Operator<Op>) ||
           (std::is_empty_v<Op> && std::is_default_constructible_v<Op>);
  }
}

/// The one of a call, or one like any other.
template <class T, class Op>
decltype(auto) operator_of([[maybe_unused]] const void* state) {
  if constexpr (is_stateless<T, Op>()) {
    return Op{};
  } else {
    return *static_cast<const Op*>(state);
  }
}

template <class T, class Op>
constexpr Reduction make_reduction() {
  Reduction reduction;
  if constexpr (TaskOperator<Op, T>) {
    reduction.spawn = &spawn_operator<T, Op>;
  } else if constexpr (kernels::Number<T> && kernels::Operator<Op>) {
    reduction.combine = &kernels::combine<T, Op>;
    reduction.combine_twice = &kernels::combine_twice<T, Op>;
  } else {
    reduction.combine = [](const void* state, void* out, const void* left, const void* right, std::size_t count) {
      combine_all<T>(operator_of<T, Op>(state), out, left, right, count);
    };
    if constexpr (is_elementary<Op, T>()) {
      reduction.combine_twice = [](const void* state, void* out, void* also, const void* left, const void* right,
                                   std::size_t count) {
        combine_all_twice<T>(operator_of<T, Op>(state), out, also, left, right, count);
      };
    }
  }
  reduction.commutative = is_commutative<Op>();
  reduction.as_task = !is_elementary<Op, T>();
  reduction.is_function = std::is_pointer_v<Op>;
  reduction.digest = type_digest<T, Op>();
  return reduction;
}

}  // namespace detail

template <class T, class Op>
  requires ReductionOperator<Op, T>
inline constexpr Reduction reduction_of = detail::make_reduction<T, std::decay_t<Op>>();  // a function's pointer

/// What its functions are called with beside the data; null where the operator has no state.
template <class T, class Op>
  requires ReductionOperator<Op, T>
std::shared_ptr<const void> state_of_operator([[maybe_unused]] const Op& op) {
  using Kept = std::decay_t<Op>;
  if constexpr (detail::is_stateless<T, Kept>()) {
    return nullptr;
  } else {
    return std::make_shared<const Kept>(op);
  }
}

}  // namespace stretto
