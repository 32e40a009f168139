// fft3d with MPI alone: the rival. The same decomposition, computation, options and report.

#include <mpi.h>

#include <algorithm>
#include <span>
#include <vector>

#include "fft3d/options.h"
#include "fft3d/report.h"
#include "fft3d/slabs.h"
#include "stretto/program/mpi_rival.h"

namespace {

using namespace fft3d;
using stretto::program::over_ranks;

/// The blocks of one round on one side, as MPI_Alltoallv wants them. They live until the round is over.
struct Blocks {
  explicit Blocks(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      offsets.push_back(total);
      counts.push_back(static_cast<int>(size));
      total += static_cast<int>(size);
    }
  }

  std::vector<int> counts;
  std::vector<int> offsets;
  int total = 0;
};

/// One round under way.
struct Round {
  Round(const Transposition& transposition, std::size_t round)
      : given(transposition.input_counts(round)), got(transposition.output_counts(round)) {}

  Blocks given;
  Blocks got;
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_taken = false;
};

struct Buffers {
  explicit Buffers(const Transposition& transposition)
      : given(std::max(transposition.input_size(), transposition.output_size())), got(given.size()) {}

  std::vector<Complex> given;
  std::vector<Complex> got;
};

std::span<Complex> got_in(Buffers& buffers, const Transposition& transposition, std::size_t number,
                          const Round& round) {
  return std::span(buffers.got).subspan(transposition.output_offset(number), static_cast<std::size_t>(round.got.total));
}

void start(Slabs::Way& way, Buffers& buffers, std::size_t number, Round& round, Overlap overlap) {
  const Transposition& transposition = way.transposition;
  const std::span<Complex> given =
      std::span(buffers.given).subspan(transposition.input_offset(number), static_cast<std::size_t>(round.given.total));
  const std::span<Complex> got = got_in(buffers, transposition, number, round);
  way.give(number, given);
  if (overlap == Overlap::off) {
    MPI_Alltoallv(given.data(), round.given.counts.data(), round.given.offsets.data(), MPI_C_DOUBLE_COMPLEX, got.data(),
                  round.got.counts.data(), round.got.offsets.data(), MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    return;
  }
  MPI_Ialltoallv(given.data(), round.given.counts.data(), round.given.offsets.data(), MPI_C_DOUBLE_COMPLEX, got.data(),
                 round.got.counts.data(), round.got.offsets.data(), MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD,
                 &round.request);
}

/// Puts what came in its place.
void take(Slabs::Way& way, Buffers& buffers, std::size_t number, Round& round) {
  way.take(number, got_in(buffers, way.transposition, number, round));
  round.is_taken = true;
}

void take_if_done(Slabs::Way& way, Buffers& buffers, std::size_t number, Round& round) {
  if (round.is_taken) return;
  int is_done = 0;
  MPI_Test(&round.request, &is_done, MPI_STATUS_IGNORE);
  if (is_done != 0) take(way, buffers, number, round);
}

void transform(Slabs::Way& way, Buffers& buffers, Overlap overlap) {
  const std::size_t count = way.transposition.rounds();
  std::vector<Round> rounds;
  for (std::size_t number = 0; number < count; ++number) rounds.emplace_back(way.transposition, number);
  for (std::size_t number = 0; number < count; ++number) {
    start(way, buffers, number, rounds[number], overlap);
    // Most MPIs move data only when they are called.
    for (std::size_t before = 0; before <= number; ++before) take_if_done(way, buffers, before, rounds[before]);
  }
  for (std::size_t number = 0; number < count; ++number) {
    if (rounds[number].is_taken) continue;
    MPI_Wait(&rounds[number].request, MPI_STATUS_IGNORE);
    take(way, buffers, number, rounds[number]);
  }
  way.finish();
}

Run run_once(Slabs& slabs, Buffers& buffers, const Options& options, Overlap overlap, int ranks) {
  Tally tally;
  for (std::size_t i = 0; i <= options.repeat; ++i) {
    slabs.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    transform(slabs.forward(), buffers, overlap);
    if (i > 0) tally.add(MPI_Wtime() - begin);
  }
  transform(slabs.backward(), buffers, overlap);
  Run run;
  run.overlap = overlap;
  run.seconds = over_ranks(tally, ranks);
  run.round_trip_error = over_ranks(slabs.round_trip_error(), MPI_MAX);
  return run;
}

Outcome run(const Options& options, int rank, int ranks) {
  Slabs slabs(options.n, static_cast<std::uint32_t>(ranks), static_cast<std::uint32_t>(rank),
              options.planes_per_message);
  Buffers buffers(slabs.forward().transposition);
  Outcome outcome;
  outcome.program = "fft3d_mpi";
  outcome.nodes = static_cast<std::uint32_t>(ranks);
  outcome.block_bytes = slabs.most_block_bytes();
  for (const Overlap overlap : options.overlaps) {
    outcome.runs.push_back(run_once(slabs, buffers, options, overlap, ranks));
  }
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parse = [](int count, char** words) { return parse_options(count, words, Program::mpi); };
  return stretto::program::run_rival<Options>(argc, argv, "fft3d_mpi", parse, run);
}
