// The ways in which MPI's users may write problem.h, a file each.
#pragma once

#include <mpi.h>

typedef struct {
  int count;                               // doubles of each vector
  double *first, *second, *sum, *product;  // what goes in, and what comes out
  double *spare1, *spare2;
} Vectors;

extern int rank;

// The communicator of ranks 1 and 2, who take part in r2; MPI_COMM_NULL at the others.
extern MPI_Comm pair;

// With MPI's blocking operations, as they come to mind.
void blocking(const Vectors* vectors);

// With its non-blocking operations, both reductions at once.
void nonblocking(const Vectors* vectors);

// With messages alone: the fewest, each as early as can be.
void message_graph(const Vectors* vectors);
