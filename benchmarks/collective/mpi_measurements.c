#define _GNU_SOURCE
#include "collective/mpi_measurements.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collective/mpi_call.h"
#include "mpi_support.h"
#include "stretto/program/computation.h"

static const char* rival_name;
static bool rewrites_input;

static double over_ranks(double value, MPI_Op operator) {
  double result;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, operator, MPI_COMM_WORLD);
  return result;
}

void begin_measurements(const char* rival, bool input_is_rewritten) {
  rival_name = rival;
  rewrites_input = input_is_rewritten;
}

static void begin_row(const char* operation) {
  printf("{\"operation\":\"%s\",\"rival\":\"%s\",\"version\":\"%s\",\"fabric\":\"processes\",\"ranks\":%d", operation,
         rival_name, library_version(), ranks);
}

static void end_row(void) {
  printf("}\n");
  fflush(stdout);
}

static double back_to_back(const Call* call, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  for (int i = 0; i < count; ++i) run_call(call);
  return over_ranks((now() - start) / count, MPI_MAX);
}

// Fills `seconds`, sorted: of each call the maximum over the ranks.
static void timed_calls(const Call* call, int count, bool rewrites, double* seconds) {
  double* mine = allocate((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) {
    if (rewrites) write_input(call);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    run_call(call);
    mine[i] = now() - start;
  }
  MPI_Allreduce(mine, seconds, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(seconds, (size_t)count, sizeof(double), ascending);
  free(mine);
}

static double after_barriers(const Call* call, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    run_call(call);
  }
  return over_ranks((now() - start) / count, MPI_MAX);
}

static int iterations_that_fit(const Call* call, double budget) {
  double estimate = after_barriers(call, first_calls);
  if (estimate < short_call_seconds) {
    double estimates[estimate_trials];
    for (int i = 0; i < estimate_trials; ++i) estimates[i] = after_barriers(call, estimate_calls);
    qsort(estimates, estimate_trials, sizeof(double), ascending);
    estimate = estimates[estimate_trials / 2];
  }
  return (int)fmax(fewest_iterations, fmin(budget / fmax(estimate, shortest_call_seconds), most_iterations));
}

void measure_latency(Operation operation, size_t bytes, double budget) {
  Call call = make_call(operation, bytes);
  check_call(&call);
  const int iterations = iterations_that_fit(&call, budget);
  double* seconds = allocate((size_t)iterations * sizeof(double));
  timed_calls(&call, iterations, rewrites_input, seconds);
  const double mean = rewrites_input ? 0 : back_to_back(&call, iterations);
  check_call(&call);
  if (rank == 0) {
    begin_row(operation_names[operation]);
    printf(",\"input\":\"%s\",\"bytes\":%zu,\"iterations\":%d,\"median_seconds\":%.9g,\"p99_seconds\":%.9g",
           rewrites_input ? "rewritten" : "kept", bytes, iterations, seconds[iterations / 2],
           seconds[(int)ceil(0.99 * iterations) - 1]);
    if (!rewrites_input) printf(",\"back_to_back_seconds\":%.9g", mean);
    end_row();
  }
  free(seconds);
  free_call(&call);
}

// Seconds at the last rank.
static double computation_alone(size_t steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  compute(steps);
  return over_ranks(now() - start, MPI_MAX);
}

// Seconds from the issue until both are over, at the last rank; of the computation itself, where it took longest; and
// outside of it, where most was spent.
typedef struct {
  double together, computing, waited;
} Overlapped;

// A rank that computes cannot see when its operation completes: the first test after the computation counts as in time.
// Returns whether it was, at all ranks.
static int overlapped_call(const Call* call, size_t steps, Overlapped* times) {
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  const double issued = now();
  MPI_Iallreduce(call->input, call->output, (int)call->block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  const double begun = now();
  compute(steps);
  const double computing = now() - begun;
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double together = now() - issued;
  times->together = over_ranks(together, MPI_MAX);
  times->computing = over_ranks(computing, MPI_MAX);
  times->waited = over_ranks(together - computing, MPI_MAX);
  return over_ranks(done, MPI_MIN) != 0;
}

// Sorts them.
static double median_of_repetitions(double* values) {
  qsort(values, overlap_repetitions, sizeof(double), ascending);
  return values[overlap_repetitions / 2];
}

static void measure_overlap_with(const Call* call, int factor, double alone_seconds, double timed_seconds) {
  const size_t steps = steps_of_overlap(factor, alone_seconds, timed_seconds);
  double left[overlap_repetitions], computations[overlap_repetitions];
  double slowdowns[overlap_repetitions], exposed[overlap_repetitions], waits[overlap_repetitions];
  Overlapped times;
  clear_output(call);
  overlapped_call(call, steps, &times);  // warms up
  int in_time = 0;
  for (int i = 0; i < overlap_repetitions; ++i) {
    computations[i] = computation_alone(steps);
    in_time += overlapped_call(call, steps, &times);
    left[i] = times.together;
    slowdowns[i] = times.computing / computations[i];
    exposed[i] = (times.together - computations[i]) / alone_seconds;
    waits[i] = times.waited;
  }
  verify_output(call);
  const double median_left = median_of_repetitions(left);
  if (rank != 0) return;
  begin_row("allreduce_overlap");
  printf(
      ",\"bytes\":%d,\"iterations\":%d,\"factor\":%d,\"completed_before_computation_ended\":%d,"
      "\"alone_seconds\":%.9g,\"completion_seconds\":%.9g,\"slowest_completion_seconds\":%.9g,"
      "\"computation_seconds\":%.9g,\"slowdown\":%.9g,\"exposed\":%.9g,\"overlap\":%.9g",
      overlap_bytes, overlap_repetitions, factor, in_time, alone_seconds, median_left, left[overlap_repetitions - 1],
      median_of_repetitions(computations), median_of_repetitions(slowdowns), median_of_repetitions(exposed),
      fmax(0, 1 - median_of_repetitions(waits) / alone_seconds));
  end_row();
}

void measure_overlap(void) {
  Call call = make_call(OPERATION_ALLREDUCE, overlap_bytes);
  double alone[overlap_calls_alone];
  timed_calls(&call, overlap_calls_alone, false, alone);
  double timed_seconds = computation_alone(timed_steps);
  for (int i = 1; i < timings; ++i) timed_seconds = fmin(timed_seconds, computation_alone(timed_steps));
  for (int i = 0; i < overlap_lengths; ++i) {
    measure_overlap_with(&call, overlap_factors[i], alone[overlap_calls_alone / 2], timed_seconds);
  }
  free_call(&call);
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// All ranks wait in a barrier for rank 0, which sleeps.
void measure_idle(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu_before = cpu_seconds();
  const double start = now();
  if (rank == 0) usleep((useconds_t)(1e6 * idle_seconds));
  MPI_Barrier(MPI_COMM_WORLD);
  const double waited = now() - start;
  const double cpu = over_ranks(cpu_seconds() - cpu_before, MPI_SUM);
  if (rank != 0) return;
  begin_row("idle");
  printf(",\"seconds\":%.9g,\"cpu_seconds\":%.9g,\"cores\":%.9g", waited, cpu, cpu / waited);
  end_row();
}
