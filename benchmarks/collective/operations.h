// What stretto.cc and mpi.c measure, said once for both, in C11 and C++20: the operations, what sizes mean, what goes
// in, what has to come out, and how often a call is repeated.
//
// Elements are doubles, in buffers that begin where a cache line does. The bytes of a row are those of the vector for
// broadcast, reduce, allreduce and the scans, and those of one rank's block for the others, where blocks are listed the
// mean. The root is rank 0; reductions are sums.
#pragma once

#include <stddef.h>

typedef enum {
  OPERATION_BARRIER,
  OPERATION_BROADCAST,
  OPERATION_REDUCE,
  OPERATION_ALLREDUCE,
  OPERATION_ALLGATHER,
  OPERATION_GATHER,
  OPERATION_SCATTER,
  OPERATION_REDUCE_SCATTER,
  OPERATION_ALL_TO_ALL,
  OPERATION_SCAN,
  OPERATION_EXSCAN,
  OPERATION_ALLGATHERV,
  OPERATION_ALL_TO_ALLV,
} Operation;

// Those that are measured where nobody names any come first.
enum { usual_operation_count = OPERATION_SCAN + 1, operation_count = OPERATION_ALL_TO_ALLV + 1 };

static const char* const operation_names[operation_count] = {
    "barrier",        "broadcast",  "reduce", "allreduce", "allgather",  "gather",     "scatter",
    "reduce_scatter", "all_to_all", "scan",   "exscan",    "allgatherv", "all_to_allv"};

// A row's number of calls is what fits into the seconds asked for, each with the barrier before it, within these
// bounds. The estimate is the mean of the first calls, or, where those are short, the median of some trials: one may
// have been preempted.
enum { fewest_iterations = 8, most_iterations = 20000 };
enum { first_calls = 3, estimate_trials = 5, estimate_calls = 20 };
static const double short_call_seconds = 1e-3;
static const double shortest_call_seconds = 1e-7;

static const double idle_seconds = 2;

enum { buffer_alignment = 64 };

static inline int has_listed_blocks(Operation operation) {
  return operation == OPERATION_ALLGATHERV || operation == OPERATION_ALL_TO_ALLV;
}

// Elements of a block that `rank` gives, where `block` is what sizes say. Where blocks are listed, those of every other
// rank are half as long again, those of the ranks between half as long, as far as elements are whole: of that mean.
static inline size_t block_of(Operation operation, size_t block, int rank, int ranks) {
  const int has_partner = rank < ranks - ranks % 2;
  if (!has_listed_blocks(operation) || !has_partner) return block;
  return rank % 2 == 0 ? block + block / 2 : block - block / 2;
}

// How many blocks the input of `rank` has. A broadcast has its data in the output.
static inline size_t input_blocks(Operation operation, int rank, int ranks) {
  switch (operation) {
    case OPERATION_BARRIER:
    case OPERATION_BROADCAST: return 0;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_ALL_TO_ALL:
    case OPERATION_ALL_TO_ALLV: return (size_t)ranks;
    case OPERATION_SCATTER: return rank == 0 ? (size_t)ranks : 0;
    default: return 1;
  }
}

static inline size_t output_blocks(Operation operation, int rank, int ranks) {
  switch (operation) {
    case OPERATION_BARRIER: return 0;
    case OPERATION_ALLGATHER:
    case OPERATION_ALL_TO_ALL:
    case OPERATION_ALLGATHERV:
    case OPERATION_ALL_TO_ALLV: return (size_t)ranks;
    case OPERATION_GATHER: return rank == 0 ? (size_t)ranks : 0;
    case OPERATION_REDUCE: return rank == 0 ? 1 : 0;
    case OPERATION_EXSCAN: return rank == 0 ? 0 : 1;
    default: return 1;
  }
}

// Elements of the input and of the output of `rank`.
static inline size_t input_size(Operation operation, size_t block, int rank, int ranks) {
  return block_of(operation, block, rank, ranks) * input_blocks(operation, rank, ranks);
}

static inline size_t output_size(Operation operation, size_t block, int rank, int ranks) {
  return block * output_blocks(operation, rank, ranks);
}

// Whether what that rank gives lies where others get it.
static inline int gives_output(Operation operation, int rank) { return operation == OPERATION_BROADCAST && rank == 0; }

// Input that is kept may lie in the caches of whoever read it last time, where data are read in place, or in those of
// who sends them. Where it is rewritten before each call that is timed, as by most programs, it lies in its owner's
// caches alone; calls back to back are not measured then.
//
// Input differs by rank and by element; all sums are exact, whatever their order.
static inline double input_value(int rank, size_t index) { return rank + 1 + 1024.0 * (double)(index % 251); }

static inline double sum_of_inputs(int first_ranks, size_t index) {
  return 0.5 * first_ranks * (first_ranks + 1) + first_ranks * 1024.0 * (double)(index % 251);
}

// What element `index` of the output of `rank` has to be, where blocks are listed: they lie one behind the other.
static inline double expected_listed_output(Operation operation, int rank, int ranks, size_t block, size_t index) {
  int from = 0;
  for (; index >= block_of(operation, block, from, ranks); ++from) index -= block_of(operation, block, from, ranks);
  const size_t before = operation == OPERATION_ALL_TO_ALLV ? (size_t)rank * block_of(operation, block, from, ranks) : 0;
  return input_value(from, before + index);
}

// The same of any operation, in blocks of `block` elements.
static inline double expected_output(Operation operation, int rank, int ranks, size_t block, size_t index) {
  const size_t in_my_block = (size_t)rank * block + index;
  switch (operation) {
    case OPERATION_BARRIER:
    case OPERATION_BROADCAST: return input_value(0, index);
    case OPERATION_REDUCE:
    case OPERATION_ALLREDUCE: return sum_of_inputs(ranks, index);
    case OPERATION_ALLGATHER:
    case OPERATION_GATHER: return input_value((int)(index / block), index % block);
    case OPERATION_SCATTER: return input_value(0, in_my_block);
    case OPERATION_REDUCE_SCATTER: return sum_of_inputs(ranks, in_my_block);
    case OPERATION_ALL_TO_ALL: return input_value((int)(index / block), (size_t)rank * block + index % block);
    case OPERATION_SCAN: return sum_of_inputs(rank + 1, index);
    case OPERATION_EXSCAN: return sum_of_inputs(rank, index);
    case OPERATION_ALLGATHERV:
    case OPERATION_ALL_TO_ALLV: return expected_listed_output(operation, rank, ranks, block, index);
  }
  return 0;
}

// What the output holds before a call that is checked: nothing that could come out, but for the root's broadcast.
static inline double value_before(Operation operation, int rank, size_t index) {
  return gives_output(operation, rank) ? input_value(0, index) : -1;
}
