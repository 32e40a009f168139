// What stretto.cc and mpi.c measure, said once for both, in C11 and C++20: the program of Fig. 5 of Ali, Pai and
// Midkiff, "Advanced collective communication in Aspen", ICS 2008, on four ranks. At the same time
//
//     r1    the sum of the first vectors of ranks 0 to 3       to ranks 0 and 2
//     r2    the product of the second vectors of ranks 1 and 2 to rank 3
//
// The bytes of a row are those of each vector, of doubles.
#pragma once

#include <stddef.h>

enum { problem_ranks = 4 };

// A row's number of calls is what fits into the seconds asked for, by the median of some trials, within these bounds.
enum { fewest_iterations = 8, most_iterations = 20000, trial_calls = 20 };
static const double shortest_call_seconds = 1e-7;

static inline double first_value(int rank, size_t index) { return rank + 1 + (double)(index % 251); }
static inline double second_value(int rank, size_t index) { return rank + 1 + (double)(index % 7); }

static inline double expected_sum(size_t index) {
  return first_value(0, index) + first_value(1, index) + first_value(2, index) + first_value(3, index);
}
static inline double expected_product(size_t index) { return second_value(1, index) * second_value(2, index); }
