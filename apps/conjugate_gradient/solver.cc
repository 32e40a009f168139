#include "conjugate_gradient/solver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "stretto/base/error.h"

namespace conjugate_gradient {
namespace {

using stretto::Error;
using stretto::ErrorCode;

/// Iterations until the first replacement, and the bounds within which their distance adapts.
constexpr std::size_t first_period = 16;
constexpr std::size_t shortest_period = 4;
constexpr std::size_t longest_period = 1024;
/// How far s = A p may drift between replacements, of its norm. Ill-conditioned systems amplify the drift: at 1e-12
/// some take twice the iterations of the classic method, and nothing is gained below 3e-13.
constexpr double tolerated_drift = 3e-13;
/// A drift this small means that replacing was not needed yet.
constexpr double small_drift = tolerated_drift / 10;
/// (p, A p) as negative as this, of (u, A u), cannot be rounding.
constexpr double certain_curvature = 1e-8;
/// So many unconfirmed claims of convergence without the true residual halving end a solve.
constexpr int patience = 20;
/// Squares below this have lost digits to underflow.
constexpr double smallest_square = 1e-280;

std::size_t adapted(std::size_t period, double drift) {
  if (drift > tolerated_drift) return std::max(shortest_period, period / 2);
  if (drift < small_drift) return std::min(longest_period, period * 2);
  return period;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

double count_nonzero(std::span<const double> v) {
  return static_cast<double>(std::count_if(v.begin(), v.end(), [](double value) { return value != 0; }));
}

}  // namespace

std::string_view name_of(Method method) { return method == Method::classic ? "classic" : "pipelined"; }

std::size_t default_max_iterations(std::size_t rows) { return std::max<std::size_t>(1000, 10 * rows); }

Solver::Solver(const LocalSystem& system, std::span<const double> rhs, SolverOptions options)
    : system_(system),
      rhs_(rhs),
      options_(options),
      x_(system.own + system.ghosts, 0),
      steps_(options.method == Method::classic ? classic() : pipelined()) {}

Steps Solver::classic() {
  const std::span<const double> inverse(system_.inverse_diagonal);
  std::vector<double> r(rhs_.begin(), rhs_.end());  // x is 0
  std::vector<double> u(system_.own);
  std::vector<double> s(system_.own);
  std::vector<double> p(x_.size(), 0);
  precondition(inverse, r, u);
  std::array<double, 3> first{dot(r, u), dot(r, r), count_nonzero(r)};
  co_yield Step(first);
  start(first[1], first[2]);
  std::array<double, 2> sums{first[0], first[1]};  // (r, u) and (r, r)
  double previous_ru = std::numeric_limits<double>::infinity();

  for (;;) {
    if (should_check(sums[1])) {
      co_yield Step(Product{x_, s});
      const double rr = replace_residual(inverse, rhs_, s, r, u);
      sums = {dot(r, u), rr};
      co_yield Step(sums);
      if (settle(sums[1])) co_return;
      ++outcome_.replacements;
      previous_ru = std::numeric_limits<double>::infinity();  // begin anew with p = u
    }
    new_direction(sums[0] / previous_ru, u, p);
    previous_ru = sums[0];

    co_yield Step(Product{p, s});
    std::array<double, 1> curvature{dot(p, s)};
    co_yield Step(curvature);
    require_finite(curvature[0]);
    if (curvature[0] <= 0) fail_indefinite(curvature[0]);
    const ResidualSums updated = classic_update(previous_ru / curvature[0], inverse, p, s, x_, r, u);
    ++outcome_.iterations;
    sums = {updated.ru, updated.rr};
    co_yield Step(sums);
  }
}

Steps Solver::pipelined() {
  const std::span<const double> inverse(system_.inverse_diagonal);
  const std::size_t own = system_.own;
  std::vector<double> r(rhs_.begin(), rhs_.end());  // x is 0
  std::vector<double> u(x_.size(), 0), p(x_.size(), 0), q(x_.size(), 0), m(x_.size(), 0);
  std::vector<double> w(own, 0), s(own, 0), z(own, 0), n(own, 0);
  const PipelinedVectors v{x_, r, u, w, p, s, q, z, m, n};
  precondition(inverse, r, u);
  std::array<double, 2> first{dot(r, r), count_nonzero(r)};
  co_yield Step(Product{u, w}, first);
  start(first[0], first[1]);
  auto sums = prepare_pipelined(inverse, v).to_array();
  std::size_t period = first_period;
  std::size_t replaced_at = 0;  // vectors of this iteration are no recurrences
  bool replace = false;

  for (;;) {
    if (replace) {
      precondition(inverse, r, u);
      co_yield Step(Product{u, w}, Product{p, n});
      const DriftSums found = replace_direction(inverse, n, s, q);
      std::array<double, 2> drift{found.drift, found.whole};
      co_yield Step(Product{q, z}, drift);
      period = adapted(period, std::sqrt(drift[0] / drift[1]));
      sums = prepare_pipelined(inverse, v).to_array();
      replaced_at = outcome_.iterations;
      ++outcome_.replacements;
    }

    co_yield Step(Product{m, n}, sums);
    const PipelinedSums global = PipelinedSums::from(sums);
    if (should_check(global.rr)) {
      co_yield Step(Product{x_, n});
      std::array<double, 1> rr{replace_residual(inverse, rhs_, n, r, u)};
      co_yield Step(rr);
      if (settle(rr[0])) co_return;
      replace = true;
      continue;
    }

    double beta = global.sp > 0 ? -global.su / global.sp : 0;  // the first direction is u alone
    double curvature = global.wu + beta * global.su;
    require_finite(curvature);
    if (curvature <= 0 || global.sp < 0) {
      // In exact vectors this is the matrix's doing, unless it is as small as rounding; else that of the recurrences.
      replace = replaced_at != outcome_.iterations;
      if (replace) continue;
      if (global.wu <= 0) fail_indefinite(global.wu);
      if (global.sp < 0) fail_indefinite(global.sp);
      if (curvature < -certain_curvature * global.wu) fail_indefinite(curvature);
      beta = 0;
      curvature = global.wu;
    }
    const double alpha = (global.ru + beta * global.rp) / curvature;
    sums = pipelined_update(alpha, beta, inverse, v).to_array();
    ++outcome_.iterations;
    replace = outcome_.iterations - replaced_at >= period;
  }
}

void Solver::start(double squared_rhs, double nonzero_rhs) {
  require_finite(squared_rhs);
  if (nonzero_rhs > 0 && squared_rhs < smallest_square) {
    throw Error(ErrorCode::bad_input, "the right-hand side is too small for its norm to be computed: scale it up");
  }
  rhs_norm_ = std::sqrt(squared_rhs);
  best_unconfirmed_ = std::numeric_limits<double>::infinity();
}

double Solver::note_residual(double squared_residual) {
  require_finite(squared_residual);
  history_.resize(outcome_.iterations + 1);
  history_.back() = rhs_norm_ == 0 ? 0 : std::sqrt(squared_residual) / rhs_norm_;
  return history_.back();
}

bool Solver::should_check(double squared_residual) {
  const double residual = note_residual(squared_residual);
  return residual <= options_.tolerance || outcome_.iterations >= options_.max_iterations;
}

bool Solver::settle(double squared_residual) {
  const double residual = note_residual(squared_residual);
  outcome_.relative_residual = residual;
  outcome_.converged = residual <= options_.tolerance;
  if (outcome_.converged || outcome_.iterations >= options_.max_iterations) return true;
  if (residual < best_unconfirmed_ / 2) {
    best_unconfirmed_ = residual;
    unconfirmed_ = 0;
  }
  outcome_.stagnated = ++unconfirmed_ >= patience;
  return outcome_.stagnated;
}

void Solver::require_finite(double value) const {
  if (std::isfinite(value)) return;
  throw Error(ErrorCode::bad_input, "numbers overflow in iteration " + std::to_string(outcome_.iterations) +
                                        ": the matrix is singular, or its entries or those of the right-hand side "
                                        "are too large");
}

void Solver::fail_indefinite(double curvature) const {
  throw Error(ErrorCode::bad_input, "the matrix is not positive definite: in iteration " +
                                        std::to_string(outcome_.iterations + 1) +
                                        " a direction p has p . A p = " + number(curvature));
}

}  // namespace conjugate_gradient
