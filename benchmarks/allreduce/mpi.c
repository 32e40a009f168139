// The rivals' all-reduce, measured as stretto.cc measures Stretto's; C11 and MPI 3.1. One JSON object a line from rank
// 0.
//
//   mpicc -O2 -o allreduce_mpi mpi.c
//   mpirun -n 2 ./allreduce_mpi --rival NAME --measure latency|overlap|idle [--sizes 8,1024] [--seconds 0.3]
//
// All times are in seconds. A latency is the maximum over the ranks of one call, each call after a barrier; the median
// and the 99th percentile are over the iterations. back_to_back_seconds is the mean of calls without barriers.

#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { fewest_iterations = 8, most_iterations = 20000, most_sizes = 32, overlap_factor = 10, overlap_repetitions = 10 };

static int rank, ranks;
static const char* rival = "mpi";
static char version[MPI_MAX_LIBRARY_VERSION_STRING];
static size_t elements;
static double *input, *output;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void fail(const char* what) {
  fprintf(stderr, "allreduce_mpi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* allocate(size_t bytes) {
  void* memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory == NULL) fail("out of memory");
  return memory;
}

static double over_ranks(double value, MPI_Op operator) {
  double result;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, operator, MPI_COMM_WORLD);
  return result;
}

// What the library says about itself, its first words, fit for a JSON string.
static void ask_version(void) {
  int length;
  MPI_Get_library_version(version, &length);
  for (char* c = version; *c != 0; ++c) {
    if (*c == ',' || *c == '\n') {
      *c = 0;
      break;
    }
    if (*c == '"' || *c == '\\' || !isprint((unsigned char)*c)) *c = ' ';
  }
}

static void begin_row(const char* operation) {
  printf("{\"operation\":\"%s\",\"rival\":\"%s\",\"version\":\"%s\",\"fabric\":\"processes\",\"ranks\":%d", operation,
         rival, version, ranks);
}

static void end_row(void) {
  printf("}\n");
  fflush(stdout);
}

static void set_size(size_t bytes) {
  elements = bytes / sizeof(double);
  free(input);
  free(output);
  input = allocate(elements * sizeof(double));
  output = allocate(elements * sizeof(double));
  for (size_t i = 0; i < elements; ++i) {
    input[i] = 1;
    output[i] = 0;
  }
}

static void call(void) { MPI_Allreduce(input, output, (int)elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void check(void) {
  for (size_t i = 0; i < elements; ++i) {
    if (output[i] != ranks) fail("the sum is wrong");
  }
}

static double back_to_back(int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  for (int i = 0; i < count; ++i) call();
  return over_ranks((now() - start) / count, MPI_MAX);
}

static int ascending(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

// Fills `seconds`, sorted: of each call the maximum over the ranks.
static void timed_calls(int count, double* seconds) {
  double* mine = allocate((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    call();
    mine[i] = now() - start;
  }
  MPI_Allreduce(mine, seconds, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(seconds, (size_t)count, sizeof(double), ascending);
  free(mine);
}

// How many calls take about `budget` seconds, from the median of a few trials: one may have been preempted.
static int iterations_that_fit(double budget) {
  enum { trials = 5 };
  double estimates[trials];
  double estimate = back_to_back(3);
  if (estimate < 1e-3) {
    for (int i = 0; i < trials; ++i) estimates[i] = back_to_back(20);
    qsort(estimates, trials, sizeof(double), ascending);
    estimate = estimates[trials / 2];
  }
  return (int)fmax(fewest_iterations, fmin(budget / fmax(estimate, 1e-7), most_iterations));
}

static void latency(size_t bytes, double budget) {
  set_size(bytes);
  const int iterations = iterations_that_fit(budget);
  double* seconds = allocate((size_t)iterations * sizeof(double));
  timed_calls(iterations, seconds);
  const double mean = back_to_back(iterations);
  check();
  if (rank == 0) {
    begin_row("allreduce");
    printf(
        ",\"bytes\":%zu,\"iterations\":%d,\"median_seconds\":%.9g,\"p99_seconds\":%.9g,\"back_to_back_seconds\":%.9g",
        elements * sizeof(double), iterations, seconds[iterations / 2], seconds[(int)ceil(0.99 * iterations) - 1],
        mean);
    end_row();
  }
  free(seconds);
}

// A rank that computes cannot see when its operation completes: the first test after the computation counts as in time.
static void overlap(void) {
  set_size((size_t)1 << 20);
  double alone[2 * fewest_iterations + 1], left[overlap_repetitions];
  timed_calls(2 * fewest_iterations + 1, alone);
  const double computation = overlap_factor * alone[fewest_iterations];
  int in_time = 0;
  for (int i = 0; i < overlap_repetitions; ++i) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    const double end = now() + computation;
    MPI_Iallreduce(input, output, (int)elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    while (now() < end) {
    }
    const double computed = now();
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
    left[i] = over_ranks(computation + now() - computed, MPI_MAX);
    in_time += over_ranks(done, MPI_MIN) != 0;
  }
  check();
  qsort(left, overlap_repetitions, sizeof(double), ascending);
  if (rank != 0) return;
  begin_row("allreduce_overlap");
  printf(
      ",\"bytes\":%zu,\"iterations\":%d,\"completed_before_computation_ended\":%d,\"alone_seconds\":%.9g,"
      "\"completion_seconds\":%.9g,\"slowest_completion_seconds\":%.9g,\"computation_seconds\":%.9g",
      elements * sizeof(double), overlap_repetitions, in_time, alone[fewest_iterations], left[overlap_repetitions / 2],
      left[overlap_repetitions - 1], computation);
  end_row();
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// All ranks wait in a barrier for rank 0, which sleeps.
static void idle(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu_before = cpu_seconds();
  const double start = now();
  if (rank == 0) usleep(2000000);
  MPI_Barrier(MPI_COMM_WORLD);
  const double waited = now() - start;
  const double cpu = over_ranks(cpu_seconds() - cpu_before, MPI_SUM);
  if (rank != 0) return;
  begin_row("idle");
  printf(",\"seconds\":%.9g,\"cpu_seconds\":%.9g,\"cores\":%.9g", waited, cpu, cpu / waited);
  end_row();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ask_version();

  const char* measure = "latency";
  size_t sizes[most_sizes] = {8, 1024, 65536, (size_t)1 << 20};
  int size_count = 4;
  double budget = 0.3;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) fail("each option needs a value");
    if (!strcmp(argv[i], "--rival")) {
      rival = argv[i + 1];
    } else if (!strcmp(argv[i], "--measure")) {
      measure = argv[i + 1];
    } else if (!strcmp(argv[i], "--seconds")) {
      budget = atof(argv[i + 1]);
    } else if (!strcmp(argv[i], "--sizes")) {
      size_count = 0;
      for (char* word = strtok(argv[i + 1], ","); word != NULL; word = strtok(NULL, ",")) {
        if (size_count == most_sizes) fail("too many sizes");
        sizes[size_count++] = strtoul(word, NULL, 10);
        if (sizes[size_count - 1] < 8) fail("a size is at least 8 bytes");
      }
    } else {
      fail("the options are --rival, --measure, --sizes and --seconds");
    }
  }

  if (!strcmp(measure, "latency")) {
    for (int i = 0; i < size_count; ++i) latency(sizes[i], budget);
  } else if (!strcmp(measure, "overlap")) {
    overlap();
  } else if (!strcmp(measure, "idle")) {
    idle();
  } else {
    fail("--measure is latency, overlap or idle");
  }
  free(input);
  free(output);
  MPI_Finalize();
  return 0;
}
