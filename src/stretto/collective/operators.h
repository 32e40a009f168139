#pragma once

#include <type_traits>

namespace stretto {

/// The operators that come with Stretto. Each works on all arithmetic types, and on any type that has what it uses.
struct Sum {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a + b);
  }
};
struct Product {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(short)) {
      return static_cast<T>(1U * a * b);  // would be promoted to int, which a product of two may overflow
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct Minimum {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct LogicalAnd {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(static_cast<bool>(a) & static_cast<bool>(b));  // not &&, a branch that no vector has
  }
};
struct LogicalOr {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(static_cast<bool>(a) | static_cast<bool>(b));
  }
};

inline constexpr Sum sum;
inline constexpr Product product;
inline constexpr Minimum minimum;
inline constexpr Maximum maximum;
inline constexpr LogicalAnd logical_and;
inline constexpr LogicalOr logical_or;

}  // namespace stretto
