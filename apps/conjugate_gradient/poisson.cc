#include "conjugate_gradient/poisson.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "stretto/base/error.h"

namespace conjugate_gradient {
namespace {

/// How many of i - 1, i and i + 1 lie in [0, n).
std::size_t neighbours(std::size_t i, std::size_t n) { return 1 + (i > 0 ? 1U : 0U) + (i + 1 < n ? 1U : 0U); }

/// The sum of neighbours(j, n) over j < i.
std::size_t neighbours_before(std::size_t i, std::size_t n) {
  if (i == 0) return 0;
  return 3 * i - 1 - (i == n ? 1U : 0U);  // point 0 has no left, point n - 1 no right neighbour
}

/// The range [first, last) of those neighbours.
RowRange neighbour_range(std::size_t i, std::size_t n) { return {i == 0 ? 0 : i - 1, std::min(i + 2, n)}; }

}  // namespace

PoissonGrid::PoissonGrid(std::size_t nx, std::size_t ny, std::size_t nz) : nx_(nx), ny_(ny), nz_(nz) {
  constexpr std::size_t limit = std::numeric_limits<std::uint32_t>::max();
  const bool fits = nx > 0 && ny > 0 && nz > 0 && nx <= limit && ny <= limit / nx && nz <= limit / (nx * ny);
  if (fits) return;
  throw stretto::Error(stretto::ErrorCode::invalid_argument,
                       name() + ": each side must be at least 1 and the grid smaller than 2^32 points");
}

std::size_t PoissonGrid::nonzeros_before(std::size_t row) const {
  const std::size_t x = row % nx_;
  const std::size_t y = row / nx_ % ny_;
  const std::size_t z = row / nx_ / ny_;
  const std::size_t line = neighbours_before(nx_, nx_);
  const std::size_t plane = neighbours_before(ny_, ny_) * line;
  if (z == nz_) return neighbours_before(nz_, nz_) * plane;  // row == rows(): x and y are 0
  const std::size_t in_plane = neighbours_before(y, ny_) * line + neighbours(y, ny_) * neighbours_before(x, nx_);
  return neighbours_before(z, nz_) * plane + neighbours(z, nz_) * in_plane;
}

std::string PoissonGrid::name() const {
  return "poisson " + std::to_string(nx_) + " x " + std::to_string(ny_) + " x " + std::to_string(nz_);
}

SparseMatrix PoissonGrid::row_range(RowRange range) const {
  SparseMatrix matrix;
  matrix.rows = range.size();
  matrix.columns = rows();
  const std::size_t entries = nonzeros_before(range.end) - nonzeros_before(range.begin);
  matrix.row_start.reserve(range.size() + 1);
  matrix.column.reserve(entries);
  matrix.value.reserve(entries);
  for (std::size_t row = range.begin; row < range.end; ++row) {
    const RowRange xs = neighbour_range(row % nx_, nx_);
    const RowRange ys = neighbour_range(row / nx_ % ny_, ny_);
    const RowRange zs = neighbour_range(row / nx_ / ny_, nz_);
    for (std::size_t z = zs.begin; z < zs.end; ++z) {
      for (std::size_t y = ys.begin; y < ys.end; ++y) {
        for (std::size_t x = xs.begin; x < xs.end; ++x) {
          const std::size_t column = (z * ny_ + y) * nx_ + x;
          matrix.column.push_back(static_cast<std::uint32_t>(column));
          matrix.value.push_back(column == row ? 26 : -1);
        }
      }
    }
    matrix.row_start.push_back(matrix.value.size());
  }
  return matrix;
}

}  // namespace conjugate_gradient
