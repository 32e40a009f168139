#include "conjugate_gradient/sparse_matrix.h"

#include <gtest/gtest.h>

#include <string>

#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace conjugate_gradient {
namespace {

SparseMatrix matrix_of(std::size_t rows, std::vector<Entry> entries) { return assemble(rows, rows, entries).matrix; }

std::string refusal(const SparseMatrix& matrix) {
  try {
    require_symmetric(matrix, "m");
  } catch (const stretto::Error& error) {
    EXPECT_EQ(error.code(), stretto::ErrorCode::bad_input);
    return error.message();
  }
  return "accepted";
}

TEST(SparseMatrix, AssemblesInAnyOrder) {
  stretto::Random random(1);
  constexpr std::size_t size = 20;
  std::vector<double> dense(size * size, 0);
  std::vector<Entry> entries;
  for (int i = 0; i < 300; ++i) {
    const auto row = static_cast<std::uint32_t>(random.below(size));
    const auto column = static_cast<std::uint32_t>(random.below(size));
    const auto value = static_cast<double>(random.below(1000));
    dense[row * size + column] += value;
    entries.push_back({row, column, value});
  }
  const Assembled assembled = assemble(size, size, entries);
  EXPECT_EQ(assembled.matrix.nonzeros() + assembled.duplicates, entries.size());
  EXPECT_GT(assembled.duplicates, 0U);
  const SparseMatrix transpose = transposed(assembled.matrix);
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t column = 0; column < size; ++column) {
      EXPECT_EQ(assembled.matrix.at(row, column), dense[row * size + column]);
      EXPECT_EQ(transpose.at(column, row), dense[row * size + column]);
    }
  }
}

TEST(SparseMatrix, RowsOfKeepsColumns) {
  const SparseMatrix block = rows_of(matrix_of(3, {{0, 0, 1}, {1, 0, 2}, {1, 2, 3}, {2, 2, 4}}), {1, 3});
  EXPECT_EQ(block.rows, 2U);
  EXPECT_EQ(block.columns, 3U);
  EXPECT_EQ(block.at(0, 2), 3);
  EXPECT_EQ(diagonal_of(block, 1), (std::vector<double>{0, 4}));
}

TEST(Symmetry, IsJudgedWithinRounding) {
  const double almost = 0.3 * (1 + 1e-14);
  EXPECT_EQ(refusal(matrix_of(2, {{0, 0, 1}, {0, 1, 0.3}, {1, 0, almost}, {1, 1, 1}})), "accepted");
  // An entry that cancelled to nothing on one side only is rounding too, on the scale of its diagonal entries.
  EXPECT_EQ(refusal(matrix_of(2, {{0, 0, 1e6}, {0, 1, 1e-7}, {1, 1, 1e6}})), "accepted");
}

TEST(Symmetry, NamesTheWorstPair) {
  EXPECT_EQ(refusal(matrix_of(3, {{0, 0, 1}, {0, 1, 0.5}, {1, 0, 0.50001}, {1, 1, 1}, {2, 0, -0.25}, {2, 2, 1}})),
            "m: the matrix is not symmetric: entry (3, 1) is -0.25 but (1, 3) is 0 (the worst of 2 pairs that differ "
            "beyond rounding)");
  EXPECT_NE(refusal(matrix_of(2, {{0, 0, 1}, {0, 1, 1.7e308}, {1, 0, -1.7e308}, {1, 1, 1}})), "accepted")
      << "a difference that overflows";
  EXPECT_NE(refusal(matrix_of(2, {{0, 1, 1}, {1, 0, -1}})), "accepted") << "no diagonal";
}

TEST(Symmetry, CompletesThePattern) {
  const SparseMatrix whole = require_symmetric(matrix_of(3, {{0, 0, 1e6}, {0, 2, 1e-7}, {1, 1, 1}, {2, 2, 1e6}}), "m");
  EXPECT_EQ(whole.nonzeros(), 5U);
  EXPECT_EQ(whole.columns_of(2).front(), 0U);
  EXPECT_EQ(whole.at(2, 0), 0) << "values stay";
  EXPECT_EQ(whole.at(0, 2), 1e-7);
}

TEST(Diagonal, MustBePositive) {
  EXPECT_NO_THROW(require_positive_diagonal(std::vector<double>{1, 1e-300}, "m"));
  const auto refuse = [](double value) {
    try {
      require_positive_diagonal(std::vector<double>{1, value}, "m", 10);
    } catch (const stretto::Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refuse(-2), "m: the matrix is not positive definite: its diagonal entry (12, 12) is -2");
  EXPECT_EQ(refuse(0), "m: the matrix is not positive definite: its diagonal entry (12, 12) is 0");
}

}  // namespace
}  // namespace conjugate_gradient
