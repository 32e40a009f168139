#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "conjugate_gradient/problem.h"
#include "conjugate_gradient/solver.h"

namespace conjugate_gradient {

struct SerialResult {
  Outcome outcome;
  std::vector<double> solution;
  std::vector<double> history;
};

/// Solves `problem` with `nodes` nodes in one loop, without any runtime: ghosts are copied and sums added up, in the
/// order of the nodes. What a distributed run must agree with. REQUIRES: rhs.size() == problem.rows(), nodes > 0.
/// Throws what Solver::next() throws.
SerialResult solve_serially(const Problem& problem, std::span<const double> rhs, std::size_t nodes,
                            SolverOptions options);

}  // namespace conjugate_gradient
