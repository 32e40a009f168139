#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conjugate_gradient/sparse_matrix.h"

namespace conjugate_gradient {

/// What a Matrix Market file held.
struct MatrixFile {
  SparseMatrix matrix;              ///< both triangles, also of a file that stores only the lower one
  bool declared_symmetric = false;  ///< by the file's header; a `general` file may hold a symmetric matrix too
  std::size_t duplicates = 0;       ///< entries at a place that an earlier line had named: they were added up
};

/// Reads the square matrix of a linear system from a Matrix Market file.
///
/// Formats `coordinate` and `array`; fields `real` (also `double`), `integer` and `pattern` (each entry is 1);
/// `general` and `symmetric` (lower triangle only, as the standard demands). The text is streamed: memory follows
/// the entries that are really there, never a declared size. Zeros of an array are not stored.
///
/// Throws Error(bad_input), one line that opens with "file:line:", when the file is too long, not square, of another
/// kind, or holds an index out of range, a value that is not finite, or an entry above the diagonal of a symmetric
/// matrix. Of what no single line is to blame for, as when the file is missing, a directory, empty, compressed or
/// truncated, the line opens with "file:". Throws Error(io) when reading fails.
/// Source: R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.
MatrixFile read_matrix(const std::string& path);

/// The same from a stream; `bytes` is its length where known, and lets sizes that cannot be true be refused at once.
MatrixFile read_matrix(std::istream& in, std::string_view name, std::optional<std::uint64_t> bytes);

/// Reads a vector of `rows` numbers: a Matrix Market array (or coordinate) file with one column.
std::vector<double> read_vector(const std::string& path, std::size_t rows);
std::vector<double> read_vector(std::istream& in, std::string_view name, std::optional<std::uint64_t> bytes,
                                std::size_t rows);

/// Writes `values` as a Matrix Market array of one column with all their digits (%.17g: they read back the same).
/// `comment` becomes one comment line when it is not empty. Throws Error(io) when the file cannot be written whole.
void write_vector(const std::string& path, std::span<const double> values, std::string_view comment);

}  // namespace conjugate_gradient
