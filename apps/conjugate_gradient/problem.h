#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "conjugate_gradient/halo.h"
#include "conjugate_gradient/matrix_market.h"
#include "conjugate_gradient/partition.h"
#include "conjugate_gradient/poisson.h"

namespace conjugate_gradient {

/// The matrix of a linear system, from a file or made by formula. Immutable: all nodes of a process may share one and
/// read it at the same time. Made alike by every process, so that nobody has to send anybody a part of it.
class Problem {
 public:
  /// Takes a matrix that read_matrix() gave. Throws Error(bad_input) when it is not symmetric within rounding or has
  /// a diagonal entry that is not positive. `name` opens messages.
  Problem(MatrixFile file, std::string name);
  explicit Problem(PoissonGrid grid);

  std::size_t rows() const;
  std::size_t nonzeros() const;
  const std::string& name() const noexcept { return name_; }
  /// Entries of the file that were added to earlier ones.
  std::size_t duplicates() const noexcept { return duplicates_; }

  /// About equal numbers of entries for each of `nodes` nodes; equal on all of them.
  Partition partition(std::size_t nodes) const;
  LocalSystem local_system(const Partition& partition, stretto::NodeId node) const;

 private:
  std::variant<SparseMatrix, PoissonGrid> matrix_;
  std::string name_;
  std::size_t duplicates_ = 0;
};

}  // namespace conjugate_gradient
