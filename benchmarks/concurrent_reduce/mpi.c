// The program of problem.h in MPI, measured as stretto.cc measures Stretto's; C11 and MPI 3.1. One JSON object a line
// from rank 0.
//
//   mpicc -std=c11 -O2 -I benchmarks -o concurrent_reduce_mpi benchmarks/concurrent_reduce/mpi*.c -lm
//   mpirun -n 4 ./concurrent_reduce_mpi --rival NAME [--sizes 8,4096] [--seconds 0.1]

#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "concurrent_reduce/mpi_variant.h"
#include "concurrent_reduce/problem.h"
#include "mpi_support.h"

int rank;
MPI_Comm pair = MPI_COMM_NULL;

typedef struct {
  const char* name;
  void (*run)(const Vectors* vectors);
} Variant;

static const Variant variants[] = {
    {"blocking", blocking}, {"nonblocking", nonblocking}, {"message graph", message_graph}};
enum { variant_count = sizeof variants / sizeof variants[0] };

static Vectors make_vectors(size_t bytes) {
  Vectors v = {.count = (int)(bytes / sizeof(double))};
  double** const all[] = {&v.first, &v.second, &v.sum, &v.product, &v.spare1, &v.spare2};
  for (int i = 0; i < 6; ++i) {
    *all[i] = allocate(bytes);
    memset(*all[i], 0, bytes);
  }
  for (int i = 0; i < v.count; ++i) {
    v.first[i] = first_value(rank, (size_t)i);
    v.second[i] = second_value(rank, (size_t)i);
  }
  return v;
}

static void free_vectors(Vectors* v) {
  double* const all[] = {v->first, v->second, v->sum, v->product, v->spare1, v->spare2};
  for (int i = 0; i < 6; ++i) free(all[i]);
}

static void check(const Variant* variant, const Vectors* v) {
  for (int i = 0; i < v->count; ++i) v->sum[i] = v->product[i] = -1;
  variant->run(v);
  for (int i = 0; i < v->count; ++i) {
    if ((rank == 0 || rank == 2) && v->sum[i] != expected_sum((size_t)i)) fail("the sum is wrong");
    if (rank == 3 && v->product[i] != expected_product((size_t)i)) fail("the product is wrong");
  }
}

static double slowest(double seconds) {
  double result;
  MPI_Allreduce(&seconds, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return result;
}

// Fills `seconds`, sorted: of each call the maximum over the ranks.
static void timed_calls(const Variant* variant, const Vectors* v, int count, double* seconds) {
  double* mine = allocate((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    variant->run(v);
    mine[i] = now() - start;
  }
  MPI_Allreduce(mine, seconds, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(seconds, (size_t)count, sizeof(double), ascending);
  free(mine);
}

static double back_to_back(const Variant* variant, const Vectors* v, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  for (int i = 0; i < count; ++i) variant->run(v);
  return slowest((now() - start) / count);
}

static void measure(const Options* options, const Variant* variant, size_t bytes) {
  Vectors vectors = make_vectors(bytes);
  check(variant, &vectors);
  double trials[trial_calls];
  timed_calls(variant, &vectors, trial_calls, trials);
  const double estimate = fmax(trials[trial_calls / 2], shortest_call_seconds);
  const int count = (int)fmax(fewest_iterations, fmin(options->seconds / estimate, most_iterations));
  double* seconds = allocate((size_t)count * sizeof(double));
  timed_calls(variant, &vectors, count, seconds);
  const double mean = back_to_back(variant, &vectors, count);
  check(variant, &vectors);
  if (rank == 0) {
    printf(
        "{\"operation\":\"concurrent_reduce\",\"variant\":\"%s\",\"rival\":\"%s\",\"version\":\"%s\","
        "\"fabric\":\"processes\",\"ranks\":%d,\"bytes\":%zu,\"iterations\":%d,\"median_seconds\":%.9g,"
        "\"p99_seconds\":%.9g,\"back_to_back_seconds\":%.9g}\n",
        variant->name, options->rival, library_version(), problem_ranks, bytes, count, seconds[count / 2],
        seconds[(int)ceil(0.99 * count) - 1], mean);
    fflush(stdout);
  }
  free(seconds);
  free_vectors(&vectors);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != problem_ranks) fail("the program has four ranks");
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1 || rank == 2 ? 0 : MPI_UNDEFINED, rank, &pair);
  const Options options = options_from(
      argc, argv, (Options){.rival = "mpi", .sizes = {8, 4096, 1 << 18, 1 << 21}, .size_count = 4, .seconds = 0.1});
  for (int s = 0; s < options.size_count; ++s) {
    for (int i = 0; i < variant_count; ++i) measure(&options, &variants[i], options.sizes[s]);
  }
  if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
