#define _GNU_SOURCE
#include "collective/mpi_call.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi_support.h"

int rank, ranks;

// Of one giver's blocks for all ranks, or, where that is NULL, of one block of each.
static Blocks make_blocks(const Call* call, const int* giver) {
  Blocks blocks = {allocate((size_t)ranks * sizeof(int)), allocate((size_t)ranks * sizeof(int))};
  int offset = 0;
  for (int i = 0; i < ranks; ++i) {
    blocks.counts[i] = (int)block_of(call->operation, call->block, giver ? *giver : i, ranks);
    blocks.offsets[i] = offset;
    offset += blocks.counts[i];
  }
  return blocks;
}

Call make_call(Operation operation, size_t bytes) {
  Call call = {.operation = operation, .block = bytes / sizeof(double)};
  call.input_size = input_size(operation, call.block, rank, ranks);
  call.output_size = output_size(operation, call.block, rank, ranks);
  call.input = allocate(call.input_size * sizeof(double));
  // What an exscan leaves in the output of rank 0 is not defined: it may be anything, and is not looked at.
  call.output = allocate((operation == OPERATION_EXSCAN ? call.block : call.output_size) * sizeof(double));
  call.given = make_blocks(&call, &rank);
  call.got = make_blocks(&call, NULL);
  write_input(&call);
  return call;
}

void write_input(const Call* call) {
  const bool is_output = gives_output(call->operation, rank);
  double* input = is_output ? call->output : call->input;
  const size_t size = is_output ? call->output_size : call->input_size;
  for (size_t i = 0; i < size; ++i) input[i] = input_value(rank, i);
}

void free_call(Call* call) {
  free(call->input);
  free(call->output);
  free(call->given.counts);
  free(call->given.offsets);
  free(call->got.counts);
  free(call->got.offsets);
}

void run_call(const Call* call) {
  const double* in = call->input;
  double* out = call->output;
  const int count = (int)call->block;
  const Blocks given = call->given, got = call->got;
  const MPI_Comm all = MPI_COMM_WORLD;
  switch (call->operation) {
    case OPERATION_BARRIER: MPI_Barrier(all); break;
    case OPERATION_BROADCAST: MPI_Bcast(out, count, MPI_DOUBLE, 0, all); break;
    case OPERATION_REDUCE: MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, all); break;
    case OPERATION_ALLREDUCE: MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, all); break;
    case OPERATION_ALLGATHER: MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, all); break;
    case OPERATION_GATHER: MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, all); break;
    case OPERATION_SCATTER: MPI_Scatter(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, all); break;
    case OPERATION_REDUCE_SCATTER: MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, all); break;
    case OPERATION_ALL_TO_ALL: MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, all); break;
    case OPERATION_SCAN: MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, all); break;
    case OPERATION_EXSCAN: MPI_Exscan(in, out, count, MPI_DOUBLE, MPI_SUM, all); break;
    case OPERATION_ALLGATHERV:
      MPI_Allgatherv(in, given.counts[rank], MPI_DOUBLE, out, got.counts, got.offsets, MPI_DOUBLE, all);
      break;
    case OPERATION_ALL_TO_ALLV:
      MPI_Alltoallv(in, given.counts, given.offsets, MPI_DOUBLE, out, got.counts, got.offsets, MPI_DOUBLE, all);
      break;
  }
}

// Nobody leaves a barrier before all have come. All ranks of the job have one clock.
static void check_barrier(const Call* call) {
  double came = now(), left, last;
  run_call(call);
  left = now();
  MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (left < last) fail("a barrier let a rank go too early");
}

void clear_output(const Call* call) {
  for (size_t i = 0; i < call->output_size; ++i) call->output[i] = value_before(call->operation, rank, i);
}

void verify_output(const Call* call) {
  for (size_t i = 0; i < call->output_size; ++i) {
    if (call->output[i] == expected_output(call->operation, rank, ranks, call->block, i)) continue;
    fprintf(stderr, "collective_mpi: %s of %zu bytes, rank %d of %d, element %zu:\n", operation_names[call->operation],
            call->block * sizeof(double), rank, ranks, i);
    fail("the result is wrong");
  }
}

void check_call(const Call* call) {
  if (call->operation == OPERATION_BARRIER) {
    check_barrier(call);
    return;
  }
  clear_output(call);
  run_call(call);
  verify_output(call);
}
