// r1: 1 -> 0 and 3 -> 2, then 0 <-> 2. r2: 2 -> 1, then 1 -> 3. No rank sends or receives twice in a stage.

#include "concurrent_reduce/mpi_variant.h"

static void send_to(int to, const double* data, int count, MPI_Request* request) {
  MPI_Isend(data, count, MPI_DOUBLE, to, 0, MPI_COMM_WORLD, request);
}

static void receive_from(int from, double* data, int count, MPI_Request* request) {
  MPI_Irecv(data, count, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, request);
}

static void add(double* out, const double* a, const double* b, int count) {
  for (int i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

static void multiply(double* out, const double* a, const double* b, int count) {
  for (int i = 0; i < count; ++i) out[i] = a[i] * b[i];
}

// Ranks 0 and 2: each adds a neighbour's vector, then the other's sum.
static void receive_sum(const Vectors* v) {
  const int other = 2 - rank, n = v->count;
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Request neighbour;
  receive_from(rank + 1, v->spare1, n, &neighbour);
  receive_from(other, v->spare2, n, &requests[0]);
  if (rank == 2) send_to(1, v->second, n, &requests[1]);
  MPI_Wait(&neighbour, MPI_STATUS_IGNORE);
  add(v->sum, v->first, v->spare1, n);
  send_to(other, v->sum, n, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  add(v->sum, v->sum, v->spare2, n);
}

static void make_product(const Vectors* v) {
  const int n = v->count;
  MPI_Request requests[2], factor;
  receive_from(2, v->spare1, n, &factor);
  send_to(0, v->first, n, &requests[0]);
  MPI_Wait(&factor, MPI_STATUS_IGNORE);
  multiply(v->product, v->second, v->spare1, n);
  send_to(3, v->product, n, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void receive_product(const Vectors* v) {
  MPI_Request requests[2];
  receive_from(1, v->product, v->count, &requests[0]);
  send_to(2, v->first, v->count, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void message_graph(const Vectors* v) {
  if (rank == 1) {
    make_product(v);
  } else if (rank == 3) {
    receive_product(v);
  } else {
    receive_sum(v);
  }
}
