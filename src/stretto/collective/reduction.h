#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "stretto/base/hash.h"
#include "stretto/collective/kernels.h"
#include "stretto/collective/operators.h"  // IWYU pragma: export
#include "stretto/core/node.h"
#include "stretto/core/spawn_options.h"
#include "stretto/core/task.h"
#include "stretto/schedule/schedule.h"

namespace stretto {

/// What can be reduced and moved: trivially copyable, so that its bytes are its value.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_const_v<T>;

/// An operator that is a task of the user's own (the recommendation of the Legion paper, section IV-A):
///
///     void op(Node& node, std::span<T> out, std::span<const T> left, std::span<const T> right)
///
/// or a coroutine that returns Task<>. It sets out[i] to left[i] (+) right[i]; all are of one size, and `out` may be
/// `left` or `right`. It runs on the processors of its node, ahead of other tasks, and may spawn tasks and wait for
/// them, but not for what the caller of the collective has yet to do. An exception poisons the collective everywhere.
template <class Op, class T>
concept TaskOperator = Element<T> && requires(const Op& op, Node& node, std::span<T> out, std::span<const T> in) {
  requires std::is_void_v<decltype(op(node, out, in, in))> || std::is_same_v<decltype(op(node, out, in, in)), Task<>>;
};

/// An associative operator on T. It is taken to depend on the order of its terms, which are then combined in rank
/// order, unless its type says `static constexpr bool commutative = true`.
///
/// An operator of the user's runs as a task of its own, since it may take long, wait or throw. One that never does may
/// say `static constexpr bool elementary = true`, and be noexcept: it then runs where the data arrive, between
/// messages, which saves a hand-over to another thread each time (some microseconds); several threads may run it at
/// once. Or it is a TaskOperator.
///
/// Members' calls are compared by the operator's type alone: all pass the same function, and an equal state.
template <class Op, class T>
concept ReductionOperator =
    (Element<T> && std::is_invocable_r_v<T, const Op&, const T&, const T&>) || TaskOperator<Op, T>;

namespace detail {

template <class... T>
consteval std::uint64_t type_digest() {
  return fnv1a_64(std::string_view(__PRETTY_FUNCTION__));
}

template <class Op>
constexpr bool is_commutative() {
  if constexpr (requires { Op::commutative; }) {
    return Op::commutative;
  } else {
    return false;
  }
}

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T>;
template <class T>
constexpr bool is_number<std::complex<T>> = std::is_arithmetic_v<T>;

/// Whether all that the operator runs on T is known to be short: not so of what a user's type calls `+`.
template <class Op, class T>
constexpr bool is_elementary() {
  if constexpr (TaskOperator<Op, T>) {
    return false;
  } else if constexpr (requires { Op::elementary; }) {
    static_assert(!Op::elementary || std::is_nothrow_invocable_r_v<T, const Op&, const T&, const T&>,
                  "an operator that calls itself elementary has to be noexcept");
    return Op::elementary;
  } else {
    return kernels::Operator<Op> && is_number<T>;
  }
}

}  // namespace detail

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
  std::uint64_t digest = 0;  ///< of operator and type, the same on all nodes
};

namespace detail {

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
