#include "concurrent_reduce/mpi_variant.h"

void blocking(const Vectors* v) {
  const MPI_Comm all = MPI_COMM_WORLD;
  MPI_Reduce(v->first, v->sum, v->count, MPI_DOUBLE, MPI_SUM, 0, all);
  if (rank == 0) MPI_Send(v->sum, v->count, MPI_DOUBLE, 2, 1, all);
  if (rank == 2) MPI_Recv(v->sum, v->count, MPI_DOUBLE, 0, 1, all, MPI_STATUS_IGNORE);
  if (pair != MPI_COMM_NULL) MPI_Reduce(v->second, v->product, v->count, MPI_DOUBLE, MPI_PROD, 0, pair);
  if (rank == 1) MPI_Send(v->product, v->count, MPI_DOUBLE, 3, 2, all);
  if (rank == 3) MPI_Recv(v->product, v->count, MPI_DOUBLE, 1, 2, all, MPI_STATUS_IGNORE);
}
