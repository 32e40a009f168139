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

}  // namespace stretto::program
