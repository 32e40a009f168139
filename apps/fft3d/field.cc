#include "fft3d/field.h"

#include <algorithm>
#include <cmath>

#include "stretto/base/random.h"
#include "stretto/program/larger_error.h"

namespace fft3d {

using stretto::program::larger_error;

Complex value_at(std::size_t index) {
  stretto::Random random(index);
  const double real = random.unit();
  return {2 * real - 1, 2 * random.unit() - 1};
}

void fill(std::span<Complex> part, std::size_t first) {
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = value_at(first + i);
}

std::vector<Complex> serial_transform(const std::array<std::size_t, 3>& n) {
  std::vector<Complex> data(n[0] * n[1] * n[2]);
  fill(data, 0);
  Plan::volume(n[0], n[1], n[2], Direction::forward).apply(data);
  return data;
}

double largest_error(const std::array<std::size_t, 3>& n, std::span<const Complex> transposed,
                     std::span<const Complex> expected) {
  double error = 0;
  double size = 0;
  for (std::size_t x = 0; x < n[0]; ++x) {
    for (std::size_t y = 0; y < n[1]; ++y) {
      for (std::size_t z = 0; z < n[2]; ++z) {
        const Complex is = transposed[(y * n[0] + x) * n[2] + z];
        const Complex should_be = expected[(x * n[1] + y) * n[2] + z];
        error = larger_error(error, std::abs(is - should_be));
        size = std::max(size, std::abs(should_be));
      }
    }
  }
  return larger_error(0, error / size);
}

double largest_change(std::span<const Complex> part, std::size_t first, double scale) {
  double largest = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    largest = larger_error(largest, std::abs(part[i] / scale - value_at(first + i)));
  }
  return largest;
}

}  // namespace fft3d
