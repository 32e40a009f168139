#pragma once

#include <cstddef>
#include <string>

#include "conjugate_gradient/sparse_matrix.h"

namespace conjugate_gradient {

/// The model problem of HPCG: a 27-point stencil on a grid of nx × ny × nz points, 26 on the diagonal and -1 for each
/// neighbour inside the grid. Row (z · ny + y) · nx + x belongs to point (x, y, z). The matrix is symmetric and
/// positive definite; any range of its rows is made without the others.
/// Source: J. Dongarra, M. Heroux, P. Luszczek, "HPCG Benchmark", UT-EECS-15-736, 2015, section 3.
class PoissonGrid {
 public:
  /// Throws Error(invalid_argument) when a side is 0 or the grid has 2^32 points or more.
  PoissonGrid(std::size_t nx, std::size_t ny, std::size_t nz);

  std::size_t rows() const noexcept { return nx_ * ny_ * nz_; }
  std::size_t nonzeros() const { return nonzeros_before(rows()); }
  /// The number of entries in the rows before `row`, in constant time.
  std::size_t nonzeros_before(std::size_t row) const;
  /// "poisson 64 x 64 x 64".
  std::string name() const;

  /// The rows of `range` with the columns of the whole matrix.
  SparseMatrix row_range(RowRange range) const;

 private:
  std::size_t nx_;
  std::size_t ny_;
  std::size_t nz_;
};

}  // namespace conjugate_gradient
