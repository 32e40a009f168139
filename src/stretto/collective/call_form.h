#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/collective/reduction.h"
#include "stretto/schedule/shape.h"

namespace stretto {

/// What all calls of one function have in common that are made with elements of one type and one kind of operator: a
/// constant, to which they refer, so that calls are made, and seen to be alike, without a look at each of its fields.
struct CallForm {
  schedule::Operation operation = schedule::Operation::barrier;
  std::size_t element_bytes = 1;
  std::size_t element_alignment = 1;
  std::uint64_t type_digest = 0;
  Reduction reduction;

  /// Whether calls of them may be done alike, each by the functions of its own operator.
  friend bool operator==(const CallForm& a, const CallForm& b) noexcept {
    // That of the operator does not tell whether it is a task: operators of two files may have one name.
    return a.operation == b.operation && a.element_bytes == b.element_bytes && a.type_digest == b.type_digest &&
           a.reduction.digest == b.reduction.digest && a.reduction.commutative == b.reduction.commutative &&
           a.reduction.as_task == b.reduction.as_task;
  }
};

inline constexpr CallForm form_of_barrier;

template <schedule::Operation operation, class T>
inline constexpr CallForm form_of_movement{operation, sizeof(T), alignof(T), detail::type_digest<T>(), {}};

template <schedule::Operation operation, class T, class Op>
inline constexpr CallForm form_of_reduction{operation, sizeof(T), alignof(T), detail::type_digest<T>(),
                                            reduction_of<T, Op>};

}  // namespace stretto
