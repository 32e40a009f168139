// The tests of problem.h with MPI's messages, measured as stretto.cc measures Stretto's; C11 and MPI 3.1. One JSON
// object a line from rank 0.
//
//   mpicc -std=c11 -O2 -I benchmarks -o ping_pong_mpi benchmarks/ping_pong/mpi.c -lm
//   mpirun -n 2 ./ping_pong_mpi --rival NAME [--sizes 8,4096] [--seconds 0.1]

#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_support.h"
#include "ping_pong/problem.h"

// One size: the buffers, a window of them at the receiver.
typedef struct {
  int bytes, window;
  char *outgoing, *incoming;
  MPI_Request* requests;
  MPI_Status* statuses;
} Messages;

static int rank;

static void round_trip(const Messages* m) {
  const int peer = 1 - rank;
  if (rank == 0) MPI_Send(m->outgoing, m->bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(m->incoming, m->bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(m->incoming, m->bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}

static void give_window(const Messages* m) {
  for (int i = 0; i < m->window; ++i) {
    if (rank == 0) {
      MPI_Isend(m->outgoing, m->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &m->requests[i]);
    } else {
      char* const slot = m->incoming + (size_t)i * (size_t)m->bytes;
      MPI_Irecv(slot, m->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &m->requests[i]);
    }
  }
  MPI_Waitall(m->window, m->requests, m->statuses);
  if (rank == 0) MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

typedef void (*Test)(const Messages* messages);

// Fills `seconds`, sorted, as rank 0 sees it.
static void timed(Test test, const Messages* messages, int count, double* seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    const double start = now();
    test(messages);
    seconds[i] = now() - start;
  }
  qsort(seconds, (size_t)count, sizeof(double), ascending);
}

// The median at rank 0; sets `count`.
static double median_of(Test test, const Messages* messages, double budget, int* count) {
  double trials[trial_repetitions];
  timed(test, messages, trial_repetitions, trials);
  const double estimate = fmax(trials[trial_repetitions / 2], shortest_repetition_seconds);
  *count = (int)fmax(fewest_repetitions, fmin(budget / estimate, most_repetitions));
  MPI_Bcast(count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  double* seconds = allocate((size_t)*count * sizeof(double));
  timed(test, messages, *count, seconds);
  const double median = seconds[*count / 2];
  free(seconds);
  return median;
}

static void check(const Messages* m, size_t messages) {
  const double* values = (const double*)m->incoming;
  const size_t each = (size_t)m->bytes / sizeof(double);
  for (size_t i = 0; i < messages * each; ++i) {
    if (values[i] != element(i % each)) fail("what came is not what was sent");
  }
}

static void measure(const Options* options, size_t bytes) {
  const size_t window = window_of(bytes);
  Messages m = {.bytes = (int)bytes, .window = (int)window};
  m.outgoing = allocate(bytes);
  m.incoming = allocate(window * bytes);
  m.requests = allocate(window * sizeof(MPI_Request));
  m.statuses = allocate(window * sizeof(MPI_Status));
  for (size_t i = 0; i < bytes / sizeof(double); ++i) ((double*)m.outgoing)[i] = element(i);
  memset(m.incoming, 0, window * bytes);
  int trips, windows;
  const double trip = median_of(round_trip, &m, options->seconds, &trips);
  check(&m, 1);
  const double transfer = median_of(give_window, &m, options->seconds, &windows);
  if (rank == 1) check(&m, window);
  if (rank == 0) {
    printf(
        "{\"operation\":\"ping_pong\",\"variant\":\"send\",\"rival\":\"%s\",\"version\":\"%s\","
        "\"fabric\":\"processes\",\"ranks\":%d,\"bytes\":%zu,\"iterations\":%d,\"half_round_trip_seconds\":%.9g,"
        "\"window\":%zu,\"windows\":%d,\"bytes_per_second\":%.9g}\n",
        options->rival, library_version(), problem_ranks, bytes, trips, trip / 2, window, windows,
        (double)(window * bytes) / transfer);
    fflush(stdout);
  }
  free(m.outgoing);
  free(m.incoming);
  free(m.requests);
  free(m.statuses);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != problem_ranks) fail("the tests have two ranks");
  const Options options = options_from(
      argc, argv, (Options){.rival = "mpi", .sizes = {8, 4096, 1 << 16, 1 << 22}, .size_count = 4, .seconds = 0.1});
  for (int s = 0; s < options.size_count; ++s) measure(&options, options.sizes[s]);
  MPI_Finalize();
  return 0;
}
