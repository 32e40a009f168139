// stencil_1d with MPI alone: the rival of the Legion paper's Fig. 5. The same computation, options and report.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stencil_1d/options.h"
#include "stencil_1d/problem.h"
#include "stencil_1d/report.h"
#include "stretto/program/mpi_rival.h"

namespace {

using namespace stencil_1d;
using stretto::program::over_ranks;

/// One rank's part of the grid.
struct Part {
  Part(const Grid& whole, int its_rank)
      : grid(whole),
        rank(its_rank),
        first(static_cast<std::size_t>(its_rank) * whole.points),
        values(whole.points + 2 * ghost_width),
        derivative(whole.points) {}

  Grid grid;
  int rank;
  std::size_t first;
  std::vector<double> values;  // ghosts, points, ghosts
  std::vector<double> derivative;
};

// Also beyond the ends of the shard: right at the ends of the grid, and replaced elsewhere.
void evaluate(Part& part, double phase) {
  const auto first = static_cast<std::int64_t>(part.first) - std::int64_t{ghost_width};
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    part.values[i] = field(part.grid.position(first + static_cast<std::int64_t>(i)), phase);
  }
}

void exchange_ghosts(Part& part) {
  const int left = part.rank > 0 ? part.rank - 1 : MPI_PROC_NULL;
  const int right = part.rank + 1 < static_cast<int>(part.grid.shards) ? part.rank + 1 : MPI_PROC_NULL;
  constexpr int count = static_cast<int>(ghost_width);
  double* const values = part.values.data();
  const std::size_t points = part.grid.points;
  MPI_Sendrecv(values + ghost_width, count, MPI_DOUBLE, left, 0, values + points + ghost_width, count, MPI_DOUBLE,
               right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(values + points, count, MPI_DOUBLE, right, 1, values, count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/// Runs all iterations; returns the sums of all.
std::vector<double> iterate(Part& part, std::size_t iterations, Record& record) {
  std::vector<double> sums;
  double phase = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  record.begun.push_back(MPI_Wtime());
  for (std::size_t i = 0; i < iterations; ++i) {
    evaluate(part, phase);
    exchange_ghosts(part);
    differentiate(part.values, part.grid.spacing(), part.derivative);
    const double result = shard_result(part.derivative, part.grid.spacing());
    record.derived.push_back(MPI_Wtime());
    MPI_Allreduce(&result, &phase, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    record.begun.push_back(MPI_Wtime());
    sums.push_back(phase);
  }
  return sums;
}

bool same_everywhere(const std::vector<double>& values) {
  std::vector<double> least(values.size());
  std::vector<double> most(values.size());
  const int count = static_cast<int>(values.size());
  MPI_Allreduce(values.data(), least.data(), count, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(values.data(), most.data(), count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return least == most;
}

Outcome run(const Options& options, int rank, int ranks) {
  Part part(Grid(static_cast<std::uint32_t>(ranks), options.points), rank);
  Record record;
  const std::vector<double> sums = iterate(part, options.iterations, record);
  // The phase of the last derivative is the sum before the last.
  const double phase = sums.size() > 1 ? sums[sums.size() - 2] : 0;

  Outcome outcome;
  outcome.nodes = part.grid.shards;
  outcome.method = "mpi";
  outcome.iteration = over_ranks(record.iterations(options.skip), ranks);
  outcome.collective = over_ranks(record.collectives(options.skip), ranks);
  outcome.result = sums.back();
  outcome.error = over_ranks(largest_error(part.grid, part.first, part.derivative, phase), MPI_MAX);
  outcome.nodes_agree = same_everywhere(sums);
  if (options.verify && rank == 0) outcome.agrees_with_serial = sums == serial_results(part.grid, options.iterations);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parse = [](int count, char** words) { return parse_options(count, words, Program::mpi); };
  return stretto::program::run_rival<Options>(argc, argv, "stencil_1d_mpi", parse, run);
}
