#include "conjugate_gradient/solver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "conjugate_gradient/serial_driver.h"
#include "conjugate_gradient/test_support.h"
#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace conjugate_gradient {
namespace {

constexpr std::size_t node_counts[] = {1, 2, 3, 7, 16};
constexpr Method methods[] = {Method::classic, Method::pipelined};

Problem problem_of(SparseMatrix matrix) { return Problem(MatrixFile{std::move(matrix), false, 0}, "test"); }

/// A whole matrix as one block, for checks that do not trust the code under test.
SparseMatrix whole(const Problem& problem) { return problem.local_system(Partition({0, problem.rows()}), 0).matrix; }

/// ‖b - A x‖ / ‖b‖, computed by the test itself.
double true_residual(const SparseMatrix& a, std::span<const double> b, std::span<const double> x) {
  long double squared = 0;
  long double norm = 0;
  for (std::size_t row = 0; row < a.rows; ++row) {
    long double r = b[row];
    const auto columns = a.columns_of(row);
    const auto values = a.values_of(row);
    for (std::size_t i = 0; i < columns.size(); ++i) r -= static_cast<long double>(values[i]) * x[columns[i]];
    squared += r * r;
    norm += static_cast<long double>(b[row]) * b[row];
  }
  return static_cast<double>(std::sqrt(squared / norm));
}

/// A x = b by a dense Cholesky factorisation.
std::vector<double> direct_solution(const SparseMatrix& a, std::span<const double> b) {
  const std::size_t n = a.rows;
  std::vector<double> l(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  }
  std::vector<double> x(b.begin(), b.end());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
  return x;
}

SparseMatrix random_spd(std::size_t rows, std::uint64_t seed) {
  stretto::Random random(seed);
  std::vector<Entry> lower;
  std::vector<double> weight(rows, 1);
  for (std::size_t i = 0; i < 4 * rows; ++i) {
    const auto a = static_cast<std::uint32_t>(random.below(rows));
    const auto b = static_cast<std::uint32_t>(random.below(rows));
    if (a == b) continue;
    const double value = 2 * random.unit() - 1;
    weight[a] += std::abs(value);
    weight[b] += std::abs(value);
    lower.push_back({std::max(a, b), std::min(a, b), value});
  }
  for (std::size_t i = 0; i < rows; ++i) {
    lower.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i), weight[i]});
  }
  return mirrored(assemble(rows, rows, lower).matrix);
}

/// Both methods on every number of nodes meet the tolerance by the true residual, within `limit` iterations.
void expect_solved(const Problem& problem, std::span<const double> rhs, std::size_t limit, bool compare_direct) {
  const SparseMatrix matrix = whole(problem);
  const std::vector<double> direct = compare_direct ? direct_solution(matrix, rhs) : std::vector<double>();
  for (const Method method : methods) {
    for (const std::size_t nodes : node_counts) {
      SCOPED_TRACE(std::string(name_of(method)) + " on " + std::to_string(nodes) + " nodes");
      const SerialResult result = solve_serially(problem, rhs, nodes, with(method));
      ASSERT_TRUE(result.outcome.converged);
      EXPECT_LE(result.outcome.relative_residual, 1e-8);
      EXPECT_LE(true_residual(matrix, rhs, result.solution), 1.0001e-8);
      EXPECT_LE(result.outcome.iterations, limit);
      ASSERT_EQ(result.history.size(), result.outcome.iterations + 1);
      EXPECT_DOUBLE_EQ(result.history.front(), 1);
      EXPECT_LE(result.history.back(), 1e-8);
      for (std::size_t row = 0; row < direct.size(); ++row) ASSERT_NEAR(result.solution[row], direct[row], 1e-6) << row;
    }
  }
}

void expect_solved(const Problem& problem, std::size_t limit, bool compare_direct) {
  expect_solved(problem, std::vector<double>(problem.rows(), 1), limit, compare_direct);
}

std::string data_file(const char* name) {
  const char* folder = std::getenv("STRETTO_TEST_DATA");
  if (folder == nullptr) return {};
  const auto path = std::filesystem::path(folder) / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

TEST(Solver, Poisson8) { expect_solved(Problem(PoissonGrid(8, 8, 8)), 15, true); }

TEST(Solver, Poisson20) { expect_solved(Problem(PoissonGrid(20, 20, 20)), 35, false); }

TEST(Solver, RandomPositiveDefinite) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Problem problem = problem_of(random_spd(300, seed));
    expect_solved(problem, 60, true);
    stretto::Random random(seed);
    std::vector<double> rhs(problem.rows());
    for (double& value : rhs) value = random.unit() - 0.5;
    expect_solved(problem, rhs, 60, true);
  }
}

TEST(Solver, TinySystemsOnMoreNodesThanRows) {
  expect_solved(problem_of(assemble(1, 1, std::vector<Entry>{{0, 0, 4}}).matrix), 1, true);
  expect_solved(problem_of(random_spd(5, 9)), 6, true);
}

/// An ill-conditioned one (about 1e10), where unassisted pipelined CG stagnates at 5e-5.
TEST(Solver, Bcsstk13) {
  const std::string path = data_file("bcsstk13.mtx");
  if (path.empty()) GTEST_SKIP() << "bcsstk13.mtx is not there: set STRETTO_TEST_DATA to the folder that has it";
  expect_solved(Problem(read_matrix(path), path), 2000, false);
}

/// 1-D biharmonic: the condition grows with the fourth power of the number of rows.
SparseMatrix biharmonic(std::size_t rows) {
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < rows; ++i) {
    entries.push_back({i, i, 6});
    if (i >= 1) entries.push_back({i, i - 1, -4});
    if (i >= 2) entries.push_back({i, i - 2, 1});
  }
  return mirrored(assemble(rows, rows, entries).matrix);
}

TEST(Solver, KeepsUpWithTheClassicMethodWhereRecurrencesDrift) {
  for (const std::size_t rows : {60U, 120U, 200U}) {
    const Problem problem = problem_of(biharmonic(rows));
    const std::vector<double> rhs(rows, 1);
    for (const std::size_t nodes : node_counts) {
      const SerialResult classic = solve_serially(problem, rhs, nodes, with(Method::classic));
      const SerialResult pipelined = solve_serially(problem, rhs, nodes, with(Method::pipelined));
      EXPECT_TRUE(classic.outcome.converged);
      ASSERT_TRUE(pipelined.outcome.converged) << rows << " rows on " << nodes << " nodes";
      EXPECT_LE(pipelined.outcome.iterations, 3 * classic.outcome.iterations) << rows << " rows, " << nodes << " nodes";
      EXPECT_GT(pipelined.outcome.replacements, 0U);
      EXPECT_LE(true_residual(whole(problem), rhs, pipelined.solution), 1.0001e-8);
    }
  }
}

TEST(Solver, SaysHonestlyThatItDidNotConverge) {
  const Problem problem(PoissonGrid(10, 10, 10));
  const std::vector<double> rhs(problem.rows(), 1);
  for (const Method method : methods) {
    const SerialResult few = solve_serially(problem, rhs, 2, with(method, 1e-8, 5));
    EXPECT_FALSE(few.outcome.converged);
    EXPECT_FALSE(few.outcome.stagnated);
    EXPECT_EQ(few.outcome.iterations, 5U);
    EXPECT_GT(few.outcome.relative_residual, 1e-8);
    EXPECT_NEAR(few.outcome.relative_residual, true_residual(whole(problem), rhs, few.solution), 1e-12);
    // No double precision solution has a residual like this: the recurrence will claim it, the truth will not.
    const SerialResult strict = solve_serially(problem, rhs, 2, with(method, 1e-18));
    EXPECT_FALSE(strict.outcome.converged);
    EXPECT_GT(strict.outcome.relative_residual, 1e-18);
    EXPECT_LT(strict.outcome.relative_residual, 1e-14);
    EXPECT_LT(strict.outcome.iterations, 1000U) << "stagnation ends a solve long before the limit";
  }
}

std::string refusal(const Problem& problem, double rhs, Method method, std::size_t nodes) {
  try {
    solve_serially(problem, std::vector<double>(problem.rows(), rhs), nodes, with(method));
  } catch (const stretto::Error& error) {
    EXPECT_EQ(error.code(), stretto::ErrorCode::bad_input);
    return error.message();
  }
  return "solved";
}

TEST(Solver, FindsIndefiniteMatricesDuringTheSolve) {
  // Positive diagonals, yet eigenvalues of both signs.
  const Problem small =
      problem_of(assemble(2, 2, std::vector<Entry>{{0, 0, 1}, {0, 1, -3}, {1, 0, -3}, {1, 1, 2}}).matrix);
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < 200; ++i) {
    entries.push_back({i, i, 1});
    if (i > 0) entries.push_back({i, i - 1, -0.8});
  }
  const Problem chain = problem_of(mirrored(assemble(200, 200, entries).matrix));
  for (const Method method : methods) {
    for (const std::size_t nodes : node_counts) {
      EXPECT_NE(refusal(small, 1, method, nodes).find("not positive definite"), std::string::npos);
      EXPECT_NE(refusal(chain, 1, method, nodes).find("not positive definite"), std::string::npos);
    }
  }
}

TEST(Solver, HandlesExtremeRightHandSides) {
  const Problem problem = problem_of(random_spd(40, 4));
  for (const Method method : methods) {
    const SerialResult zero = solve_serially(problem, std::vector<double>(40, 0), 3, with(method));
    EXPECT_TRUE(zero.outcome.converged);
    EXPECT_EQ(zero.outcome.iterations, 0U);
    EXPECT_EQ(zero.outcome.relative_residual, 0);
    EXPECT_EQ(zero.solution, std::vector<double>(40, 0));
    EXPECT_NE(refusal(problem, 1e200, method, 3).find("numbers overflow"), std::string::npos);
    EXPECT_NE(refusal(problem, 1e-200, method, 3).find("too small"), std::string::npos);
    const SerialResult large = solve_serially(problem, std::vector<double>(40, 1e100), 3, with(method));
    EXPECT_TRUE(large.outcome.converged);
  }
}

/// What overlaps what: the whole point of the pipelined method.
TEST(Solver, PipelinedAsksForItsReductionTogetherWithTheProduct) {
  const Problem problem(PoissonGrid(6, 6, 6));
  const std::vector<double> rhs(problem.rows(), 1);
  for (const Method method : methods) {
    const LocalSystem system = problem.local_system(problem.partition(1), 0);
    Solver solver(system, rhs, with(method, 1e-8, 100));
    std::size_t reductions = 0;
    std::size_t products = 0;
    std::size_t both = 0;
    while (const Step* step = solver.next()) {
      reductions += step->sums().empty() ? 0U : 1U;
      products += step->products().size();
      both += !step->sums().empty() && !step->products().empty() ? 1U : 0U;
      multiply(system, system.interior, step->products());
      multiply(system, system.boundary, step->products());
    }
    const std::size_t iterations = solver.outcome().iterations;
    EXPECT_TRUE(solver.outcome().converged);
    EXPECT_EQ(solver.next(), nullptr) << "over is over";
    if (method == Method::classic) {
      EXPECT_EQ(reductions, 2 * iterations + 2);  // the start and the confirmation
      EXPECT_EQ(products, iterations + 1);
      EXPECT_EQ(both, 0U);
    } else {
      EXPECT_EQ(solver.outcome().replacements, 0U);
      EXPECT_EQ(reductions, iterations + 3);  // the start, the claim and the confirmation
      EXPECT_EQ(both, iterations + 2);        // all but the confirmation
      EXPECT_EQ(products, iterations + 3);
    }
  }
}

}  // namespace
}  // namespace conjugate_gradient
