#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace stretto::program {

/// For what looks for the largest error. What is no number is infinitely wrong: any maximum may pass over NaN.
inline double larger_error(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

}  // namespace stretto::program
