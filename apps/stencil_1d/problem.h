#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What is computed, without any communication: the derivative of a known function, and the number that the shards add
/// up in every iteration.
namespace stencil_1d {

/// Points that a shard needs from each neighbour: the stencil reaches two points to either side.
inline constexpr std::size_t ghost_width = 2;
/// The outermost points of a shard, in ascending order.
using Edge = std::array<double, ghost_width>;

/// The interval [0, 1], cut into shards of equally many points, each in the middle of its cell.
struct Grid {
  Grid(std::uint32_t number_of_shards, std::size_t points_of_a_shard)
      : shards(number_of_shards), points(points_of_a_shard) {}

  std::size_t size() const { return shards * points; }
  double spacing() const { return 1 / static_cast<double>(size()); }
  /// Of a point of the whole grid, or of one that lies beyond its ends.
  double position(std::int64_t point) const { return (static_cast<double>(point) + 0.5) * spacing(); }

  std::uint32_t shards;
  std::size_t points;  ///< of each shard; at least ghost_width
};

/// The known function, sin(x + phase), and its derivative.
double field(double x, double phase);
double slope(double x, double phase);

/// derivative[i] = five-point, fourth-order difference of values[i .. i + 4].
/// REQUIRES: values.size() == derivative.size() + 2 * ghost_width.
void differentiate(std::span<const double> values, double spacing, std::span<double> derivative);

/// A shard's part of the integral of the derivative, rounded to a multiple of 2^-36.
///
/// So rounded, the parts of up to 2^16 shards add up without any further rounding, in whatever order a collective takes
/// them: every method must give the same bits, and a contribution that is lost or counted twice cannot hide.
double shard_result(std::span<const double> derivative, double spacing);

/// The largest difference from the true derivative, where derivative[0] belongs to the grid's point `first`.
double largest_error(const Grid& grid, std::size_t first, std::span<const double> derivative, double phase);

/// The sums of all iterations, computed by one thread on one array. The sum of an iteration is the phase of the next;
/// the first phase is 0. They tend to the solution of p = sin(1 + p) - sin(p), and so damp rounding errors.
std::vector<double> serial_results(const Grid& grid, std::size_t iterations);

}  // namespace stencil_1d
