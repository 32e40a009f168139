// What is measured of MPI. Each prints one JSON object from rank 0; times are in seconds.
#pragma once

#include <stdbool.h>

#include "collective/operations.h"

// Names the rival in the rows, and says whether latencies are of calls whose input was written anew. Collective, like
// all that follow.
void begin_measurements(const char* rival, bool input_is_rewritten);

// One operation at one size, for about `seconds`.
void measure_latency(Operation operation, size_t bytes, double seconds);

// An all-reduce issued before a computation that makes no calls.
void measure_overlap(void);

// The processor time that waiting ranks take.
void measure_idle(void);
