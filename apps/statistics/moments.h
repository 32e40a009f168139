#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace statistics {

/// Primary statistics of a set of numbers: how many, the extremes, the mean, and the sums of the second, third and
/// fourth powers of the deviations from it (centred moments). Of no numbers by default.
struct Moments {
  static Moments of(double value);
  /// Of all values that are not missing (NaN), combined in pairs of halves, so that rounding errors grow with the
  /// logarithm of their number.
  static Moments of(std::span<const double> values);

  std::uint64_t count = 0;
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double m2 = 0;
  double m3 = 0;
  double m4 = 0;
};

/// The moments of two sets together: the pairwise update formulas (P. Pebay, "Formulas for robust, one-pass parallel
/// computation of covariances and arbitrary-order statistical moments", SAND2008-6212, section 3; of second order by
/// Chan, Golub and LeVeque, 1979). Another order of the sets gives the same but for rounding.
struct CombineMoments {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  Moments operator()(const Moments& a, const Moments& b) const noexcept;
};

// Derived statistics; nothing where the numbers do not define them: too few, or all the same.

/// M2 / (n - 1); at least two numbers.
std::optional<double> variance(const Moments& moments);
std::optional<double> standard_deviation(const Moments& moments);
/// sqrt(n) M3 / M2^1.5, the biased estimator g1.
std::optional<double> skewness(const Moments& moments);
/// n M4 / M2^2 - 3, the biased estimator g2: the excess over a normal distribution's.
std::optional<double> kurtosis(const Moments& moments);

}  // namespace statistics
