#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stretto::program {

/// Of an even number the upper one of the two in the middle. REQUIRES: there are values.
inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The value that 99 of 100 do not exceed. REQUIRES: they are sorted, and there are values.
inline double p99_of_sorted(const std::vector<double>& values) { return values[(99 * values.size() + 99) / 100 - 1]; }

}  // namespace stretto::program
