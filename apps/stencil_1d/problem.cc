#include "stencil_1d/problem.h"

#include <cmath>

#include "stretto/program/larger_error.h"

namespace stencil_1d {

double field(double x, double phase) { return std::sin(x + phase); }
double slope(double x, double phase) { return std::cos(x + phase); }

void differentiate(std::span<const double> values, double spacing, std::span<double> derivative) {
  const double factor = 1 / (12 * spacing);
  for (std::size_t i = 0; i < derivative.size(); ++i) {
    derivative[i] = ((values[i] - values[i + 4]) + 8 * (values[i + 3] - values[i + 1])) * factor;
  }
}

double shard_result(std::span<const double> derivative, double spacing) {
  double sum = 0;
  for (const double value : derivative) sum += value;
  return std::nearbyint(sum * spacing * 0x1p36) * 0x1p-36;
}

double largest_error(const Grid& grid, std::size_t first, std::span<const double> derivative, double phase) {
  double largest = 0;
  for (std::size_t i = 0; i < derivative.size(); ++i) {
    const double x = grid.position(static_cast<std::int64_t>(first + i));
    largest = stretto::program::larger_error(largest, std::abs(derivative[i] - slope(x, phase)));
  }
  return largest;
}

std::vector<double> serial_results(const Grid& grid, std::size_t iterations) {
  std::vector<double> values(grid.size() + 2 * ghost_width);
  std::vector<double> derivative(grid.size());
  std::vector<double> results;
  double phase = 0;
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = field(grid.position(static_cast<std::int64_t>(i) - std::int64_t{ghost_width}), phase);
    }
    differentiate(values, grid.spacing(), derivative);
    phase = 0;
    for (std::size_t shard = 0; shard < grid.shards; ++shard) {
      phase += shard_result(std::span(derivative).subspan(shard * grid.points, grid.points), grid.spacing());
    }
    results.push_back(phase);
  }
  return results;
}

}  // namespace stencil_1d
