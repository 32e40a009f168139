#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "conjugate_gradient/halo.h"
#include "conjugate_gradient/steps.h"

namespace conjugate_gradient {

enum class Method : std::uint8_t { classic, pipelined };

std::string_view name_of(Method method);

struct SolverOptions {
  Method method = Method::pipelined;
  double tolerance = 1e-8;         ///< of the true residual: ‖b - A x‖ / ‖b‖
  std::size_t max_iterations = 0;  ///< 0 stands for default_max_iterations()
};

/// Ten times the number of rows, and at least 1,000.
std::size_t default_max_iterations(std::size_t rows);

struct Outcome {
  bool converged = false;
  bool stagnated = false;  ///< given up because the true residual stopped shrinking above the tolerance
  std::size_t iterations = 0;
  double relative_residual = 1;  ///< true: ‖b - A x‖ / ‖b‖, computed afresh at the end
  std::size_t replacements = 0;  ///< how often recurrences were replaced by what they stand for
};

/// One node's part of a conjugate gradient solve with Jacobi's preconditioner, without any communication.
///
/// A plain state machine: next() does the local arithmetic up to the next product or reduction and says which; the
/// driver does it and calls next() again. All nodes take the same steps. One thread at a time; the system and the
/// right-hand side outlive the solver.
///
/// `classic` is Hestenes and Stiefel's method: a product and two reductions per iteration, one after the other.
/// `pipelined` is algorithm 4 of P. Ghysels and W. Vanroose, "Hiding global synchronization latency in the
/// preconditioned Conjugate Gradient algorithm", Parallel Computing 40, 2014: one reduction per iteration, which
/// overlaps the product. Its recurrences drift from what they stand for, so two things are added:
///  - Replacement: u = M⁻¹ r, w = A u, s = A p, q = M⁻¹ s and z = A q are computed afresh every few iterations. How
///    far s had drifted is measured then, and sets the time to the next replacement. r is left alone, as in the classic
///    method: replacing it too costs up to four times the iterations on ill-conditioned systems. (Replacement was
///    brought to this method by S. Cools et al., "Analyzing the effect of local rounding error propagation on the
///    maximal attainable accuracy of the pipelined Conjugate Gradient method", SIAM J. Matrix Anal. Appl. 39, 2018.)
///  - α and β from the vectors at hand, β = -(u, A p) / (p, A p) and α = (r, p') / (p', A p') with p' = u + β p,
///    instead of from the last γ: three more sums in the same reduction, equal in exact arithmetic. Directions then
///    stay conjugate across a replacement.
///
/// Either way convergence is decided by the true residual: when the recurrence claims it and b - A x does not
/// confirm it, r is replaced by b - A x and the method goes on, until it stagnates or reaches max_iterations.
class Solver {
 public:
  /// `rhs` is this node's part of the right-hand side.
  /// REQUIRES: options.max_iterations > 0, and the same options on all nodes.
  Solver(const LocalSystem& system, std::span<const double> rhs, SolverOptions options);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// The next step; null when the solve is over. Throws Error(bad_input) when the matrix shows itself not positive
  /// definite, or when numbers overflow; then the solve is over too.
  const Step* next() { return steps_.next(); }

  const Outcome& outcome() const noexcept { return outcome_; }
  /// This node's part of x.
  std::span<const double> solution() const { return std::span(x_).first(system_.own); }
  /// The relative residual of every iteration from 0 on, as the recurrence has it, or the true one where it is known.
  std::span<const double> history() const noexcept { return history_; }

 private:
  Steps classic();
  Steps pipelined();

  void start(double squared_rhs, double nonzero_rhs);
  /// Puts the relative residual of the present iteration into the history.
  double note_residual(double squared_residual);
  /// Notes what the recurrence has; true when that claims convergence or the iterations are used up.
  bool should_check(double squared_residual);
  /// Notes and judges the true residual after should_check(): true when the solve is over.
  bool settle(double squared_residual);
  void require_finite(double value) const;
  [[noreturn]] void fail_indefinite(double curvature) const;

  const LocalSystem& system_;
  std::span<const double> rhs_;
  SolverOptions options_;
  Outcome outcome_;
  std::vector<double> history_;
  std::vector<double> x_;  ///< with ghosts
  double rhs_norm_ = 0;
  double best_unconfirmed_ = 0;  ///< the smallest true residual that did not confirm a claim
  int unconfirmed_ = 0;          ///< claims since it last halved
  Steps steps_;
};

}  // namespace conjugate_gradient
