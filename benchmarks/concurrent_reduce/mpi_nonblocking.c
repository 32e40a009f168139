#include "concurrent_reduce/mpi_variant.h"

void nonblocking(const Vectors* v) {
  const MPI_Comm all = MPI_COMM_WORLD;
  MPI_Request r1 = MPI_REQUEST_NULL, r2 = MPI_REQUEST_NULL;
  MPI_Request results[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (rank == 2) MPI_Irecv(v->sum, v->count, MPI_DOUBLE, 0, 1, all, &results[0]);
  if (rank == 3) MPI_Irecv(v->product, v->count, MPI_DOUBLE, 1, 2, all, &results[1]);
  MPI_Ireduce(v->first, rank == 0 ? v->sum : v->spare1, v->count, MPI_DOUBLE, MPI_SUM, 0, all, &r1);
  if (pair != MPI_COMM_NULL) MPI_Ireduce(v->second, v->product, v->count, MPI_DOUBLE, MPI_PROD, 0, pair, &r2);
  MPI_Wait(&r2, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Isend(v->product, v->count, MPI_DOUBLE, 3, 2, all, &results[1]);
  MPI_Wait(&r1, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Isend(v->sum, v->count, MPI_DOUBLE, 2, 1, all, &results[0]);
  MPI_Waitall(2, results, MPI_STATUSES_IGNORE);
}
