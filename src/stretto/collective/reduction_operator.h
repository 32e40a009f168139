#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <type_traits>

#include "stretto/collective/kernels.h"
#include "stretto/collective/operators.h"  // IWYU pragma: export
#include "stretto/core/node.h"
#include "stretto/core/task.h"

// What may be an operator of a reduction, and what is known of it by its type.

namespace stretto {

/// Data on their way lie as a cache line does.
inline constexpr std::size_t most_element_alignment = 64;

/// What can be reduced and moved: trivially copyable, so that its bytes are its value, and aligned to 64 bytes at most.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_const_v<T> &&
                  alignof(T) <= most_element_alignment;

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
/// Members' calls are compared by the operator's type, and by which function it is where STRETTO_CHECK_CALLS is 1: all
/// pass the same function, and an equal state.
template <class Op, class T>
concept ReductionOperator =
    (Element<T> && std::is_invocable_r_v<T, const Op&, const T&, const T&>) || TaskOperator<Op, T>;

namespace detail {

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

}  // namespace stretto
