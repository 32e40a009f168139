// What stretto.cc and mpi.c measure, said once for both, in C11 and C++20: the ping-pong and bandwidth tests of Ali,
// Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, Fig. 9 and 11, between ranks 0 and 1.
//
//     ping-pong    rank 0 gives bytes to rank 1, which gives as many back when it has them; half of that time
//     bandwidth    rank 0 gives a window of messages, all at once, and rank 1 says when it has all of them
#pragma once

#include <stddef.h>

enum { problem_ranks = 2 };

// A row's number of repetitions is what fits into the seconds asked for, by the median of some trials, within these
// bounds.
enum { fewest_repetitions = 8, most_repetitions = 20000, trial_repetitions = 11 };
static const double shortest_repetition_seconds = 1e-7;

// Messages that are under way at once: 64, but no more than 16 MiB, and at least two.
static inline size_t window_of(size_t bytes) {
  const size_t most_bytes = (size_t)16 << 20;
  const size_t fitting = most_bytes / bytes;
  return fitting > 64 ? 64 : (fitting < 2 ? 2 : fitting);
}

// Doubles; what is given back is the same.
static inline double element(size_t index) { return 1 + (double)(index % 251); }
