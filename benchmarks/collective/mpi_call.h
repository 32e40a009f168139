// One collective operation of MPI at one size: its buffers, and what has to come out.
#pragma once

#include <stddef.h>

#include "collective/operations.h"

// Elements by rank, one block behind the other.
typedef struct {
  int *counts, *offsets;
} Blocks;

typedef struct {
  Operation operation;
  size_t block;  // elements
  size_t input_size, output_size;
  double *input, *output;
  Blocks given, got;  // to and from each rank
} Call;

extern int rank, ranks;

Call make_call(Operation operation, size_t bytes);
void free_call(Call* call);

// Gives the input the values that it has.
void write_input(const Call* call);

void run_call(const Call* call);

// Makes the output what no call gives.
void clear_output(const Call* call);

// Fails if the output is not what every call has to give.
void verify_output(const Call* call);

// Both, with a call in between. Collective.
void check_call(const Call* call);
