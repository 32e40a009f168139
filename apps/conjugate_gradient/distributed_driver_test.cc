#include "conjugate_gradient/distributed_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "conjugate_gradient/serial_driver.h"
#include "conjugate_gradient/test_support.h"
#include "stretto/base/test_support.h"
#include "stretto/collective/collective.h"

namespace conjugate_gradient {
namespace {

using stretto::Error;
using stretto::ErrorCode;
using stretto::Group;
using stretto::Node;
using stretto::NodeId;
using stretto::Task;

constexpr unsigned node_counts[] = {1, 2, 3, 7, 16};
constexpr Method methods[] = {Method::classic, Method::pipelined};

Problem problem_of(std::size_t rows, const std::vector<Entry>& lower) {
  return Problem(MatrixFile{mirrored(assemble(rows, rows, lower).matrix), false, 0}, "test");
}

/// The tridiagonal matrix of `diagonal` and -1 beside it.
Problem chain(std::size_t rows, double diagonal) {
  std::vector<Entry> lower;
  for (std::uint32_t i = 0; i < rows; ++i) {
    lower.push_back({i, i, diagonal});
    if (i > 0) lower.push_back({i, i - 1, -1});
  }
  return problem_of(rows, lower);
}

/// One result per node.
std::vector<NodeResult> solve_on(const std::string& fabric, unsigned nodes, const Problem& problem,
                                 std::span<const double> rhs, SolverOptions options,
                                 const DriverOptions& driver = DriverOptions()) {
  std::vector<NodeResult> results(nodes);
  run_on(fabric, [&](Node& node) -> Task<> {
    results[node.id()] = co_await solve_distributed(node, problem, rhs, options, driver);
  });
  return results;
}

/// ‖b - A x‖ / ‖b‖, computed by the test itself.
double true_residual(const Problem& problem, std::span<const double> b, std::span<const double> x) {
  const SparseMatrix a = problem.local_system(Partition({0, problem.rows()}), 0).matrix;
  double squared = 0;
  double norm = 0;
  for (std::size_t row = 0; row < a.rows; ++row) {
    double r = b[row];
    for (std::size_t i = 0; i < a.columns_of(row).size(); ++i) r -= a.values_of(row)[i] * x[a.columns_of(row)[i]];
    squared += r * r;
    norm += b[row] * b[row];
  }
  return std::sqrt(squared / norm);
}

struct Expected {
  double iterations_apart = 1;  ///< how many more or fewer than serially, which sums in another order
  double solution_apart = 1e-6;
};

void expect_agreement(const Problem& problem, std::span<const double> rhs, Expected expected) {
  DriverOptions driver;
  driver.gather_solution = true;
  for (const Method method : methods) {
    for (const unsigned nodes : node_counts) {
      const SerialResult serial = solve_serially(problem, rhs, nodes, with(method));
      for (const std::string kind : {"local:", "sim:"}) {
        const std::string fabric = kind + std::to_string(nodes);
        SCOPED_TRACE(std::string(name_of(method)) + " on " + fabric);
        const std::vector<NodeResult> results = solve_on(fabric, nodes, problem, rhs, with(method), driver);
        const NodeResult& first = results.front();
        ASSERT_EQ(first.solution.size(), problem.rows());
        EXPECT_LE(true_residual(problem, rhs, first.solution), 1.0001e-8);
        EXPECT_NEAR(static_cast<double>(first.outcome.iterations), static_cast<double>(serial.outcome.iterations),
                    expected.iterations_apart);
        for (const NodeResult& result : results) {
          EXPECT_TRUE(result.outcome.converged);
          EXPECT_EQ(result.outcome.iterations, first.outcome.iterations);
          EXPECT_EQ(result.history, first.history) << "all nodes have the same bits";
        }
        for (std::size_t row = 0; row < problem.rows(); ++row) {
          ASSERT_NEAR(first.solution[row], serial.solution[row], expected.solution_apart) << row;
        }
      }
    }
  }
}

TEST(DistributedDriver, AgreesWithTheSerialOneOnPoisson) {
  const Problem problem(PoissonGrid(12, 10, 14));
  expect_agreement(problem, std::vector<double>(problem.rows(), 1), {});
}

TEST(DistributedDriver, AgreesWithTheSerialOneOnARightHandSideWithoutPattern) {
  const Problem problem = chain(500, 2.1);
  std::vector<double> rhs(problem.rows());
  for (std::size_t i = 0; i < rhs.size(); ++i) rhs[i] = std::sin(static_cast<double>(i * i));
  expect_agreement(problem, rhs, {});
}

TEST(DistributedDriver, HasNodesWithoutRows) {
  const Problem problem = chain(5, 3);
  expect_agreement(problem, std::vector<double>(problem.rows(), 1), {});
}

/// Ill-conditioned (about 1e10): how many iterations it takes depends on the last bits of every sum.
TEST(DistributedDriver, Bcsstk13) {
  const char* const folder = std::getenv("STRETTO_TEST_DATA");
  const std::string path = folder == nullptr ? "" : (std::filesystem::path(folder) / "bcsstk13.mtx").string();
  if (path.empty() || !std::filesystem::exists(path)) {
    GTEST_SKIP() << "bcsstk13.mtx is not there: set STRETTO_TEST_DATA to the folder that has it";
  }
  const Problem problem(read_matrix(path), path);
  const std::vector<double> rhs(problem.rows(), 1);
  DriverOptions driver;
  driver.gather_solution = true;
  for (const Method method : methods) {
    for (const char* const fabric : {"local:1", "local:7", "sim:3", "sim:16"}) {
      if (stretto::test::sanitized && std::strcmp(fabric, "sim:3") != 0) continue;  // minutes each
      SCOPED_TRACE(std::string(name_of(method)) + " on " + fabric);
      const auto nodes = static_cast<unsigned>(std::atoi(std::strchr(fabric, ':') + 1));
      const NodeResult result = solve_on(fabric, nodes, problem, rhs, with(method), driver).front();
      EXPECT_TRUE(result.outcome.converged);
      EXPECT_LE(result.outcome.iterations, 2000U);
      EXPECT_LE(true_residual(problem, rhs, result.solution), 1.0001e-8);
    }
  }
}

TEST(DistributedDriver, EndsOnAllNodesWhenTheMatrixIsNotPositiveDefinite) {
  const Problem problem = chain(100, 1);  // eigenvalues from -1 to 3
  const std::vector<double> rhs(problem.rows(), 1);
  for (const Method method : methods) {
    for (const std::string fabric : {"local:4", "sim:4"}) {
      SCOPED_TRACE(std::string(name_of(method)) + " on " + fabric);
      std::array<std::string, 4> messages;
      run_on(fabric, [&](Node& node) -> Task<> {
        try {
          co_await solve_distributed(node, problem, rhs, with(method), DriverOptions());
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::bad_input);
          messages[node.id()] = error.message();
        }
      });
      EXPECT_NE(messages.front().find("not positive definite"), std::string::npos) << messages.front();
      for (const std::string& message : messages) EXPECT_EQ(message, messages.front());
      try {
        solve_on(fabric, 4, problem, rhs, with(method));
        ADD_FAILURE() << "the job ended well";
      } catch (const Error& error) {
        EXPECT_EQ(error.message(), messages.front()) << "the job fails for the reason that its nodes found";
      }
    }
  }
}

/// In the middle of a chain of nodes, at many moments of the solve, also when a survivor waits for a survivor only.
TEST(DistributedDriver, TellsEverySurvivorOfADeath) {
  const Problem problem(PoissonGrid(6, 6, 12));
  const std::vector<double> rhs(problem.rows(), 1);
  for (const Method method : methods) {
    for (NodeId victim = 0; victim < 4; ++victim) {
      for (int message = 3; message < 150; message += 7) {
        const std::string fabric = "sim:4,kill=" + std::to_string(victim) + "#" + std::to_string(message);
        SCOPED_TRACE(std::string(name_of(method)) + " on " + fabric);
        std::array<bool, 4> told{};
        run_on(fabric, [&](Node& node) -> Task<> {
          try {
            co_await solve_distributed(node, problem, rhs, with(method), DriverOptions());
          } catch (const Error& error) {
            told[node.id()] = error.code() == ErrorCode::peer_lost;
          }
        });
        for (NodeId node = 0; node < 4; ++node) EXPECT_TRUE(node == victim || told[node]) << "node " << node;
      }
    }
  }
}

// What an iteration costs, in virtual time.

/// Of one iteration in the middle of a solve: the difference of two solves that are cut off.
double seconds_per_iteration(const std::string& fabric, unsigned nodes, const Problem& problem, Method method,
                             const DriverOptions& driver) {
  const std::vector<double> rhs(problem.rows(), 1);
  const auto seconds_of = [&](std::size_t iterations) {
    return solve_on(fabric, nodes, problem, rhs, with(method, 1e-12, iterations), driver).front().seconds;
  };
  return (seconds_of(13) - seconds_of(3)) / 10;  // before the first replacement
}

/// Of one all-reduce of `count` numbers, after another.
double seconds_per_reduction(const std::string& fabric, std::size_t count) {
  double seconds = 0;
  run_on(fabric, [&](Node& node) -> Task<> {
    const Group everybody = Group::all(node);
    std::vector<double> sums(count, 1);
    const double start = node.now();
    for (int i = 0; i < 10; ++i) {
      co_await stretto::allreduce(node, everybody, sums, sums, stretto::sum);
    }
    seconds = std::max(seconds, (node.now() - start) / 10);  // of the node that is through last
  });
  return seconds;
}

struct IterationCosts {
  double reduction = 0;
  double product = 0;  ///< with its halo exchange
  double classic = 0;
  double pipelined = 0;
};

IterationCosts costs_of(double bytes_per_second) {
  const std::string fabric = "sim:8,latency=200us";
  const Problem problem(PoissonGrid(8, 8, 64));  // about eight layers for each node
  DriverOptions driver;
  driver.cost.bytes_per_second = bytes_per_second;
  IterationCosts costs;
  costs.reduction = seconds_per_reduction(fabric, 6);
  // A node in the middle computes its inner layers while values travel, 200 us at least, then its two outer ones.
  const LocalSystem middle = problem.local_system(problem.partition(8), 4);
  const auto seconds_of = [&](std::span<const RowRange> runs) {
    std::size_t entries = 0;
    for (const RowRange& run : runs) entries += middle.matrix.row_start[run.end] - middle.matrix.row_start[run.begin];
    return entry_bytes * static_cast<double>(entries) / bytes_per_second;
  };
  costs.product = std::max(200e-6, seconds_of(middle.interior)) + seconds_of(middle.boundary);
  const auto sweep = [&](Method method) {
    return sweep_bytes(method) * static_cast<double>(middle.own) / bytes_per_second;
  };
  // Sweeps depend on sums and products depend on sweeps: they come on top in either method.
  costs.classic = seconds_per_iteration(fabric, 8, problem, Method::classic, driver) - sweep(Method::classic);
  costs.pipelined = seconds_per_iteration(fabric, 8, problem, Method::pipelined, driver) - sweep(Method::pipelined);
  return costs;
}

void expect_overlap(const IterationCosts& costs) {
  const double larger = std::max(costs.reduction, costs.product);
  EXPECT_GT(costs.pipelined, 0.95 * larger);
  EXPECT_LT(costs.pipelined, 1.05 * larger);
  EXPECT_GT(costs.classic, 0.95 * (2 * costs.reduction + costs.product)) << "classic has two reductions";
  EXPECT_LT(costs.classic, 1.05 * (2 * costs.reduction + costs.product));
}

TEST(DistributedDriver, HidesTheProductBehindAReductionThatTakesLonger) {
  const IterationCosts costs = costs_of(10e9);
  ASSERT_GT(costs.reduction, 1.5 * costs.product);
  expect_overlap(costs);
}

TEST(DistributedDriver, HidesTheReductionBehindAProductThatTakesLonger) {
  const IterationCosts costs = costs_of(0.1e9);
  ASSERT_GT(costs.product, 2 * costs.reduction);
  expect_overlap(costs);
}

TEST(DistributedDriver, HidesOneBehindTheOtherWhenBothTakeAsLong) {
  const IterationCosts costs = costs_of(0.26e9);
  ASSERT_GT(costs.product, 0.7 * costs.reduction);
  ASSERT_LT(costs.product, 1.4 * costs.reduction);
  expect_overlap(costs);
}

TEST(DistributedDriver, GivesTheSameBitsInTheSameSimulation) {
  const Problem problem(PoissonGrid(6, 6, 6));
  const std::vector<double> rhs(problem.rows(), 1);
  const std::string fabric = "sim:5,jitter=3us,reorder=0.2,seed=";
  const NodeResult first = solve_on(fabric + "4", 5, problem, rhs, with(Method::pipelined)).front();
  const NodeResult again = solve_on(fabric + "4", 5, problem, rhs, with(Method::pipelined)).front();
  const NodeResult other = solve_on(fabric + "5", 5, problem, rhs, with(Method::pipelined)).front();
  EXPECT_EQ(first.history, again.history);
  EXPECT_EQ(first.seconds, again.seconds);
  EXPECT_NE(first.seconds, other.seconds);
}

}  // namespace
}  // namespace conjugate_gradient
