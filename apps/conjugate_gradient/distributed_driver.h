#pragma once

#include <functional>
#include <span>
#include <vector>

#include "conjugate_gradient/problem.h"
#include "conjugate_gradient/solver.h"
#include "stretto/core/node.h"

namespace conjugate_gradient {

/// What the arithmetic costs in virtual time, on `sim`. It is bound by memory, so it is priced by the bytes that it
/// streams: entry_bytes for each entry of a product (value and column), and sweep_bytes() for each row and iteration.
struct ChargedCost {
  double bytes_per_second = 10e9;
};
inline constexpr double entry_bytes = 12;

/// What one iteration's vector sweeps read and write, per row: the sum over the kernels of the method.
constexpr double sweep_bytes(Method method) { return method == Method::classic ? 13 * 8 : 20 * 8; }

/// What one node knows after a solve.
struct NodeResult {
  NodeResult() {}

  Outcome outcome;
  std::vector<double> solution;  ///< of all rows at node 0, if asked for; empty elsewhere
  std::vector<double> history;
  double seconds = 0;            ///< from the first step to the last
  double reduction_seconds = 0;  ///< of those, waiting for a reduction with nothing else left to do
};

/// How a distributed solve is to be run, apart from the method.
struct DriverOptions {
  DriverOptions() {}

  ChargedCost cost;  ///< of interest on `sim` only
  bool gather_solution = false;
  /// Called at node 0 after each step with iteration, residual and elapsed seconds; may be empty.
  std::function<void(std::size_t, double, double)> progress;
};

/// Solves with all nodes of the job; every node calls it with the same arguments. Reductions are deferred collectives:
/// where the method allows it they run while the product is computed. `problem` and `rhs` outlive the task.
/// Throws what Solver::next() throws, on all nodes together, and Error(peer_lost) when a node dies.
stretto::Task<NodeResult> solve_distributed(stretto::Node& node, const Problem& problem, std::span<const double> rhs,
                                            SolverOptions options, const DriverOptions& driver);

}  // namespace conjugate_gradient
