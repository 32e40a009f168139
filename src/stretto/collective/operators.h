#pragma once

#include <cstdint>
#include <type_traits>

namespace stretto {

/// The operators that come with Stretto. The first ones work on all arithmetic types, and on any type that has what
/// they use.
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
/// Minimum and Maximum give their first operand where neither is less: of zeros of both signs the first one, and of a
/// NaN and a number, too. So what they make of such terms depends on how the schedule combines them; all members of an
/// allreduce get the same, and a reproducible call always gets the same (but for the payload of a NaN).
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
struct LogicalXor {
  static constexpr bool commutative = true;
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(static_cast<bool>(a) != static_cast<bool>(b));
  }
};
/// These work on whole numbers, and on any type that has the operator of the language.
struct BitwiseAnd {
  static constexpr bool commutative = true;
  template <class T>
    requires requires(const T& a, const T& b) { static_cast<T>(a & b); }
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  static constexpr bool commutative = true;
  template <class T>
    requires requires(const T& a, const T& b) { static_cast<T>(a | b); }
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  static constexpr bool commutative = true;
  template <class T>
    requires requires(const T& a, const T& b) { static_cast<T>(a ^ b); }
  constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a ^ b);
  }
};

/// A value and where it is: a node, an index, whatever the caller means.
template <class T>
  requires std::is_arithmetic_v<T>
struct Located {
  T value;
  std::uint64_t location;
  friend bool operator==(const Located&, const Located&) = default;
};
/// The least value, and the lowest location of those where it is.
struct Minloc {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  template <class T>
  constexpr Located<T> operator()(const Located<T>& a, const Located<T>& b) const noexcept {
    return b.value < a.value || (b.value == a.value && b.location < a.location) ? b : a;
  }
};
/// The greatest value, and the lowest location of those where it is.
struct Maxloc {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  template <class T>
  constexpr Located<T> operator()(const Located<T>& a, const Located<T>& b) const noexcept {
    return a.value < b.value || (b.value == a.value && b.location < a.location) ? b : a;
  }
};

inline constexpr Sum sum;
inline constexpr Product product;
inline constexpr Minimum minimum;
inline constexpr Maximum maximum;
inline constexpr LogicalAnd logical_and;
inline constexpr LogicalOr logical_or;
inline constexpr LogicalXor logical_xor;
inline constexpr BitwiseAnd bitwise_and;
inline constexpr BitwiseOr bitwise_or;
inline constexpr BitwiseXor bitwise_xor;
inline constexpr Minloc minloc;
inline constexpr Maxloc maxloc;

}  // namespace stretto
