#pragma once

#include <type_traits>
#include <utility>

namespace stretto::detail {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool destroys_closures_twice = true;
#else
inline constexpr bool destroys_closures_twice = false;
#endif

/// The completion (Event or Future) of a task whose callable was a temporary that owns something. Is what it completes,
/// but cannot be awaited in the expression that makes it: by a fault of GCC 12 that would destroy twice what a closure
/// written there has captured. Spawn first, then await.
template <class Completion>
class SpawnedInPlace : public Completion {
 public:
  explicit SpawnedInPlace(Completion completion) noexcept : Completion(std::move(completion)) {}
};

/// `completion` as spawn returns it for a callable that was passed as `F&&`.
template <class F, class Completion>
auto completion_of(Completion completion) noexcept {
  constexpr bool owns = !std::is_lvalue_reference_v<F> && !std::is_trivially_destructible_v<F>;
  if constexpr (owns && destroys_closures_twice) {
    return SpawnedInPlace<Completion>(std::move(completion));
  } else {
    return completion;
  }
}

}  // namespace stretto::detail
