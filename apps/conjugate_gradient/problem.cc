#include "conjugate_gradient/problem.h"

#include <utility>

namespace conjugate_gradient {

Problem::Problem(MatrixFile file, std::string name)
    : matrix_(require_symmetric(std::move(file.matrix), name)), name_(std::move(name)), duplicates_(file.duplicates) {
  require_positive_diagonal(diagonal_of(std::get<SparseMatrix>(matrix_)), name_);
}

Problem::Problem(PoissonGrid grid) : matrix_(grid), name_(grid.name()) {}

std::size_t Problem::rows() const {
  const auto* grid = std::get_if<PoissonGrid>(&matrix_);
  return grid != nullptr ? grid->rows() : std::get<SparseMatrix>(matrix_).rows;
}

std::size_t Problem::nonzeros() const {
  const auto* grid = std::get_if<PoissonGrid>(&matrix_);
  return grid != nullptr ? grid->nonzeros() : std::get<SparseMatrix>(matrix_).nonzeros();
}

Partition Problem::partition(std::size_t nodes) const {
  return partition_by_nonzeros(rows(), nodes, [&](std::size_t row) {
    const auto* grid = std::get_if<PoissonGrid>(&matrix_);
    return grid != nullptr ? grid->nonzeros_before(row) : std::get<SparseMatrix>(matrix_).row_start[row];
  });
}

LocalSystem Problem::local_system(const Partition& partition, stretto::NodeId node) const {
  const RowRange range = partition.range(node);
  const auto* grid = std::get_if<PoissonGrid>(&matrix_);
  SparseMatrix rows = grid != nullptr ? grid->row_range(range) : rows_of(std::get<SparseMatrix>(matrix_), range);
  return make_local_system(std::move(rows), partition, node, name_);
}

}  // namespace conjugate_gradient
