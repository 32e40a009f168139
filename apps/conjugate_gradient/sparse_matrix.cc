#include "conjugate_gradient/sparse_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "stretto/base/error.h"

namespace conjugate_gradient {
namespace {

using stretto::Error;
using stretto::ErrorCode;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

/// From counts per row (at index row + 1) to where each row starts.
void accumulate_starts(std::vector<std::size_t>& starts) {
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
}

/// Calls visit(column, value or null, mirrored value or null) over the union of two rows of ascending columns.
template <class Visit>
void walk_pairs(const SparseMatrix& matrix, const SparseMatrix& mirror, std::size_t row, Visit&& visit) {
  const auto mine = matrix.columns_of(row);
  const auto theirs = mirror.columns_of(row);
  const double* my_values = matrix.value.data() + matrix.row_start[row];
  const double* their_values = mirror.value.data() + mirror.row_start[row];
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < mine.size() || j < theirs.size()) {
    if (j == theirs.size() || (i < mine.size() && mine[i] < theirs[j])) {
      visit(mine[i], my_values + i, static_cast<const double*>(nullptr));
      ++i;
    } else if (i == mine.size() || theirs[j] < mine[i]) {
      visit(theirs[j], static_cast<const double*>(nullptr), their_values + j);
      ++j;
    } else {
      visit(mine[i], my_values + i, their_values + j);
      ++i;
      ++j;
    }
  }
}

struct SymmetryReport {
  std::size_t missing = 0;  ///< places that lack an entry which their mirrored place has
  std::size_t pairs = 0;    ///< pairs that differ beyond rounding
  double worst = 0;         ///< the largest relative difference among them
  std::size_t row = 0;
  std::size_t column = 0;
};

SymmetryReport examine_symmetry(const SparseMatrix& matrix, const SparseMatrix& mirror) {
  SymmetryReport report;
  const std::vector<double> diagonal = diagonal_of(matrix);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    walk_pairs(matrix, mirror, row, [&](std::uint32_t col, const double* here, const double* there) {
      if (here == nullptr) ++report.missing;
      if (col >= row) return;  // each pair is judged once, in the lower triangle
      const double a = here == nullptr ? 0 : *here;
      const double b = there == nullptr ? 0 : *there;
      const double geometric = std::sqrt(std::abs(diagonal[row])) * std::sqrt(std::abs(diagonal[col]));
      const double scale = std::max({std::abs(a), std::abs(b), geometric});
      // Halved before they are subtracted: the difference of two finite values may overflow.
      const double difference = scale == 0 ? 0 : 2 * std::abs(a / 2 - b / 2) / scale;
      if (difference <= symmetry_tolerance) return;
      ++report.pairs;
      if (difference > report.worst) {
        report.worst = difference;
        report.row = row;
        report.column = col;
      }
    });
  }
  return report;
}

SparseMatrix with_union_pattern(const SparseMatrix& matrix, const SparseMatrix& mirror) {
  SparseMatrix result;
  result.rows = matrix.rows;
  result.columns = matrix.columns;
  result.row_start.reserve(matrix.rows + 1);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    walk_pairs(matrix, mirror, row, [&](std::uint32_t col, const double* here, const double*) {
      result.column.push_back(col);
      result.value.push_back(here == nullptr ? 0 : *here);
    });
    result.row_start.push_back(result.value.size());
  }
  return result;
}

/// Sums neighbours of equal column within each row; returns how many entries vanished.
std::size_t merge_duplicates(SparseMatrix& matrix) {
  std::size_t kept = 0;
  std::size_t next = 0;
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    const std::size_t end = matrix.row_start[row + 1];
    const std::size_t begin = kept;
    for (; next < end; ++next) {
      if (kept > begin && matrix.column[kept - 1] == matrix.column[next]) {
        matrix.value[kept - 1] += matrix.value[next];
      } else {
        matrix.column[kept] = matrix.column[next];
        matrix.value[kept] = matrix.value[next];
        ++kept;
      }
    }
    matrix.row_start[row + 1] = kept;
  }
  const std::size_t duplicates = matrix.value.size() - kept;
  matrix.column.resize(kept);
  matrix.value.resize(kept);
  return duplicates;
}

}  // namespace

double SparseMatrix::at(std::size_t row, std::size_t col) const {
  const auto in_row = columns_of(row);
  const auto found = std::lower_bound(in_row.begin(), in_row.end(), col);
  if (found == in_row.end() || *found != col) return 0;
  return value[row_start[row] + static_cast<std::size_t>(found - in_row.begin())];
}

Assembled assemble(std::size_t rows, std::size_t columns, std::span<const Entry> entries) {
  // Two stable counting sorts, by column and then by row: linear, and the sums keep the order given.
  std::vector<std::size_t> column_start(columns + 1, 0);
  for (const Entry& entry : entries) ++column_start[entry.column + std::size_t{1}];
  accumulate_starts(column_start);
  std::vector<std::size_t> by_column(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) by_column[column_start[entries[i].column]++] = i;

  Assembled result;
  SparseMatrix& matrix = result.matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.row_start.assign(rows + 1, 0);
  for (const Entry& entry : entries) ++matrix.row_start[entry.row + std::size_t{1}];
  accumulate_starts(matrix.row_start);
  matrix.column.resize(entries.size());
  matrix.value.resize(entries.size());
  std::vector<std::size_t> place(matrix.row_start.begin(), matrix.row_start.end() - 1);
  for (const std::size_t i : by_column) {
    const std::size_t at = place[entries[i].row]++;
    matrix.column[at] = entries[i].column;
    matrix.value[at] = entries[i].value;
  }
  result.duplicates = merge_duplicates(matrix);
  return result;
}

SparseMatrix transposed(const SparseMatrix& matrix) {
  SparseMatrix result;
  result.rows = matrix.columns;
  result.columns = matrix.rows;
  result.row_start.assign(matrix.columns + 1, 0);
  for (const std::uint32_t col : matrix.column) ++result.row_start[col + std::size_t{1}];
  accumulate_starts(result.row_start);
  result.column.resize(matrix.nonzeros());
  result.value.resize(matrix.nonzeros());
  std::vector<std::size_t> place(result.row_start.begin(), result.row_start.end() - 1);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t i = matrix.row_start[row]; i < matrix.row_start[row + 1]; ++i) {
      const std::size_t at = place[matrix.column[i]]++;
      result.column[at] = static_cast<std::uint32_t>(row);
      result.value[at] = matrix.value[i];
    }
  }
  return result;
}

SparseMatrix mirrored(const SparseMatrix& lower) {
  const SparseMatrix upper = transposed(lower);
  SparseMatrix result;
  result.rows = lower.rows;
  result.columns = lower.columns;
  result.row_start.reserve(lower.rows + 1);
  result.column.reserve(2 * lower.nonzeros());
  result.value.reserve(2 * lower.nonzeros());
  for (std::size_t row = 0; row < lower.rows; ++row) {
    // A row of the lower triangle ends where the same row of the upper one begins.
    for (std::size_t i = lower.row_start[row]; i < lower.row_start[row + 1]; ++i) {
      result.column.push_back(lower.column[i]);
      result.value.push_back(lower.value[i]);
    }
    for (std::size_t i = upper.row_start[row]; i < upper.row_start[row + 1]; ++i) {
      if (upper.column[i] == row) continue;
      result.column.push_back(upper.column[i]);
      result.value.push_back(upper.value[i]);
    }
    result.row_start.push_back(result.value.size());
  }
  return result;
}

SparseMatrix rows_of(const SparseMatrix& matrix, RowRange range) {
  SparseMatrix result;
  result.rows = range.size();
  result.columns = matrix.columns;
  const std::size_t first = matrix.row_start[range.begin];
  const std::size_t last = matrix.row_start[range.end];
  result.row_start.resize(range.size() + 1);
  for (std::size_t row = 0; row <= range.size(); ++row) {
    result.row_start[row] = matrix.row_start[range.begin + row] - first;
  }
  const auto columns = std::span(matrix.column).subspan(first, last - first);
  const auto values = std::span(matrix.value).subspan(first, last - first);
  result.column.assign(columns.begin(), columns.end());
  result.value.assign(values.begin(), values.end());
  return result;
}

SparseMatrix require_symmetric(SparseMatrix matrix, std::string_view name) {
  if (matrix.rows != matrix.columns) {
    throw Error(ErrorCode::bad_input, std::string(name) + ": the matrix is not square but " +
                                          std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns));
  }
  const SparseMatrix mirror = transposed(matrix);
  const SymmetryReport report = examine_symmetry(matrix, mirror);
  if (report.pairs > 0) {
    const std::string row = std::to_string(report.row + 1);
    const std::string col = std::to_string(report.column + 1);
    throw Error(ErrorCode::bad_input, std::string(name) + ": the matrix is not symmetric: entry (" + row + ", " + col +
                                          ") is " + number(matrix.at(report.row, report.column)) + " but (" + col +
                                          ", " + row + ") is " + number(matrix.at(report.column, report.row)) +
                                          " (the worst of " + std::to_string(report.pairs) +
                                          " pairs that differ beyond rounding)");
  }
  return report.missing == 0 ? std::move(matrix) : with_union_pattern(matrix, mirror);
}

std::vector<double> diagonal_of(const SparseMatrix& block, std::size_t first_row) {
  std::vector<double> diagonal(block.rows);
  for (std::size_t row = 0; row < block.rows; ++row) diagonal[row] = block.at(row, first_row + row);
  return diagonal;
}

void require_positive_diagonal(std::span<const double> diagonal, std::string_view name, std::size_t first_row) {
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    if (diagonal[i] > 0) continue;
    const std::string row = std::to_string(first_row + i + 1);
    throw Error(ErrorCode::bad_input, std::string(name) +
                                          ": the matrix is not positive definite: its diagonal entry (" + row + ", " +
                                          row + ") is " + number(diagonal[i]));
  }
}

}  // namespace conjugate_gradient
