// MPI's collective operations, measured as stretto.cc measures Stretto's; C11 and MPI 3.1. One JSON object a line from
// rank 0.
//
//   mpicc -std=c11 -O2 -I benchmarks -o collective_mpi benchmarks/collective/mpi*.c -lm
//   mpirun -n 2 ./collective_mpi --rival NAME [--measure latency|overlap|idle] [--operations broadcast,scan]
//                                [--sizes 8,1024] [--seconds 0.1] [--input kept|rewritten]
//
// A latency is the maximum over the ranks of one call, each call after a barrier; the median and the 99th percentile
// are over the iterations. back_to_back_seconds is the mean of calls without barriers. operations.h says what sizes
// mean, and what it is to rewrite the input.

#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collective/mpi_call.h"
#include "collective/mpi_measurements.h"
#include "mpi_support.h"

typedef struct {
  Options common;
  const char* measure;
  bool rewrites_input;
  Operation operations[most_words];
  int operation_count;
} CollectiveOptions;

static Operation operation_named(const char* name) {
  for (int i = 0; i < operation_count; ++i) {
    if (!strcmp(name, operation_names[i])) return (Operation)i;
  }
  fail("there is no such operation");
  return OPERATION_BARRIER;
}

static void set_collective_option(CollectiveOptions* options, const char* name, char* value) {
  if (!strcmp(name, "--measure")) {
    options->measure = value;
  } else if (!strcmp(name, "--input")) {
    options->rewrites_input = !strcmp(value, "rewritten");
    if (!options->rewrites_input && strcmp(value, "kept")) fail("--input is kept or rewritten");
  } else if (!strcmp(name, "--operations")) {
    const char* words[most_words];
    options->operation_count = words_of(value, words);
    for (int i = 0; i < options->operation_count; ++i) options->operations[i] = operation_named(words[i]);
  } else if (!set_option(&options->common, name, value)) {
    fail("the options are --rival, --measure, --operations, --sizes, --seconds and --input");
  }
}

static CollectiveOptions collective_options_from(int argc, char** argv) {
  CollectiveOptions options = {
      .common = {.rival = "mpi", .sizes = {8, 1024, 65536, 1 << 20}, .size_count = 4, .seconds = 0.1},
      .measure = "latency",
      .operation_count = usual_operation_count};
  for (int i = 0; i < usual_operation_count; ++i) options.operations[i] = (Operation)i;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) fail("each option needs a value");
    set_collective_option(&options, argv[i], argv[i + 1]);
  }
  return options;
}

static void measure_latencies(const CollectiveOptions* options) {
  const Options* common = &options->common;
  for (int i = 0; i < options->operation_count; ++i) {
    const Operation operation = options->operations[i];
    if (operation == OPERATION_BARRIER) {
      measure_latency(operation, 0, common->seconds);
      continue;
    }
    for (int s = 0; s < common->size_count; ++s) measure_latency(operation, common->sizes[s], common->seconds);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const CollectiveOptions options = collective_options_from(argc, argv);
  begin_measurements(options.common.rival, options.rewrites_input);
  if (!strcmp(options.measure, "latency")) {
    measure_latencies(&options);
  } else if (!strcmp(options.measure, "overlap")) {
    measure_overlap();
  } else if (!strcmp(options.measure, "idle")) {
    measure_idle();
  } else {
    fail("--measure is latency, overlap or idle");
  }
  MPI_Finalize();
  return 0;
}
