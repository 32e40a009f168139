// What is computed under an all-reduce where benchmarks measure their overlap, said once for Stretto, MPI and sockets,
// in C11 and C++20.
#pragma once

#include <stddef.h>

// An all-reduce of so many bytes under a computation that alone takes as long as it (as in OSU's benchmarks), and one
// that takes ten times as long. Each repetition also does the computation alone, since the machine's speed changes. The
// steps that are timed first tell how many steps that takes: the least of several times, since a moment in which others
// have the cores would make it far too short.
enum { overlap_bytes = 1 << 20, overlap_repetitions = 20, overlap_calls_alone = 17 };
enum { timed_steps = 1 << 20, timings = 9 };
enum { overlap_lengths = 2 };
static const int overlap_factors[overlap_lengths] = {1, 10};

// A fixed amount of work, which calls nothing and touches no memory.
static inline double compute_steps(size_t steps) {
  double value = 1;
  for (size_t i = 0; i < steps; ++i) value = value * 0.999 + 0.001 * (double)(i % 7);
  return value;
}

static inline void compute(size_t steps) {
  volatile double kept = compute_steps(steps);
  (void)kept;
}

// How many take `factor` times as long as the all-reduce alone, where `timed_steps` take `seconds`.
static inline size_t steps_of_overlap(int factor, double alone_seconds, double seconds) {
  return (size_t)(factor * alone_seconds / seconds * (double)timed_steps);
}
