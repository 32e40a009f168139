#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace conjugate_gradient {

/// A contiguous range of rows, [begin, end).
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const noexcept { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// A sparse matrix in compressed rows (CSR); within a row the columns ascend and are distinct.
///
/// Plain data: row i holds the entries [row_start[i], row_start[i + 1]) of `column` and `value`.
/// Columns are 32-bit to halve the memory traffic of indices, so a matrix has fewer than 2^32 columns.
struct SparseMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::size_t> row_start{0};
  std::vector<std::uint32_t> column;
  std::vector<double> value;

  std::size_t nonzeros() const noexcept { return value.size(); }
  std::span<const std::uint32_t> columns_of(std::size_t row) const {
    return std::span(column).subspan(row_start[row], row_start[row + 1] - row_start[row]);
  }
  std::span<const double> values_of(std::size_t row) const {
    return std::span(value).subspan(row_start[row], row_start[row + 1] - row_start[row]);
  }
  /// The entry at (row, col), zero where none is stored. Logarithmic in the row's length.
  double at(std::size_t row, std::size_t col) const;
};

/// One entry of a matrix that is being put together.
struct Entry {
  std::uint32_t row;
  std::uint32_t column;
  double value;
};

struct Assembled {
  SparseMatrix matrix;
  std::size_t duplicates = 0;  ///< entries that were added to an earlier one at the same place
};

/// The matrix of `entries`, given in any order; entries at the same place are summed in the order given.
/// REQUIRES: every index is inside rows × columns.
Assembled assemble(std::size_t rows, std::size_t columns, std::span<const Entry> entries);

SparseMatrix transposed(const SparseMatrix& matrix);

/// L + Lᵀ without doubling the diagonal: the whole of a symmetric matrix from its lower triangle.
/// REQUIRES: `lower` is square and has no entry above the diagonal.
SparseMatrix mirrored(const SparseMatrix& lower);

/// The rows of `range`, all columns kept.
SparseMatrix rows_of(const SparseMatrix& matrix, RowRange range);

/// Two mirrored entries count as equal when they differ by at most this much of the largest of their
/// magnitudes and sqrt(|a_ii a_jj|), which bounds them in a positive definite matrix. Assembled and printed
/// matrices are symmetric only within rounding.
inline constexpr double symmetry_tolerance = 1e-10;

/// Returns `matrix` with a symmetric pattern: where only one of two mirrored places is stored, the other gets an
/// explicit zero, so that each node can tell from its own rows what its peers need. Values stay as they are.
/// Throws Error(bad_input) naming the worst pair when `matrix` is not square or not symmetric within rounding.
SparseMatrix require_symmetric(SparseMatrix matrix, std::string_view name);

/// The diagonal of a block of rows whose first row is row `first_row` of the whole matrix.
std::vector<double> diagonal_of(const SparseMatrix& block, std::size_t first_row = 0);

/// Throws Error(bad_input) naming the first row whose diagonal entry is not positive: the matrix cannot be
/// positive definite, and Jacobi's preconditioner does not exist. `diagonal` begins with that of row `first_row`.
void require_positive_diagonal(std::span<const double> diagonal, std::string_view name, std::size_t first_row = 0);

}  // namespace conjugate_gradient
