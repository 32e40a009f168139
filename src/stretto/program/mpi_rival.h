#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <variant>

#include "stretto/program/command_line.h"
#include "stretto/program/experiment.h"
#include "stretto/program/tally.h"

// What the rivals share: programs that do with MPI alone what one of Stretto's does. Nothing else is built with MPI.

namespace stretto::program {

/// A value of each rank, combined; all ranks get it.
inline double over_ranks(double value, MPI_Op op) {
  double result = 0;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return result;
}

/// REQUIRES: all ranks' tallies have the same count, not 0.
inline Tally over_ranks(const Tally& mine, int ranks) {
  return {over_ranks(mine.minimum, MPI_MIN), over_ranks(mine.maximum, MPI_MAX), over_ranks(mine.sum, MPI_SUM),
          mine.count * static_cast<std::uint64_t>(ranks)};
}

/// The rest of `main` between MPI_Init and MPI_Finalize, at every rank; only rank 0 prints. Returns the exit status.
/// `parse` returns a variant of Options and Help, `run(options, rank, ranks)` an Outcome, see experiment.h.
template <class Options, class Parse, class Run>
int run_rank(const char* program, const Parse& parse, const Run& run) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    const auto parsed = parse();
    if (const auto* const help = std::get_if<Help>(&parsed)) {
      if (rank == 0) std::fputs(help->text.c_str(), stdout);
      return 0;
    }
    const auto& options = std::get<Options>(parsed);
    const auto outcome = run(options, rank, ranks);
    return rank == 0 ? report(outcome, options) : 0;
  } catch (const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "%s: %s\n", program, error.what());
    return status_of(error);
  }
}

/// The whole of `main`; `parse(argc, argv)` sees what MPI_Init leaves.
template <class Options, class Parse, class Run>
int run_rival(int argc, char** argv, const char* program, const Parse& parse, const Run& run) {
  MPI_Init(&argc, &argv);
  const int status = run_rank<Options>(program, [&] { return parse(argc, argv); }, run);
  MPI_Finalize();
  return printed(program, status);
}

}  // namespace stretto::program
