// What the MPI programs of all benchmarks need; C11.
#pragma once

#include <ctype.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Ends the program at all ranks.
static inline void fail(const char* what) {
  fprintf(stderr, "the benchmark of MPI: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void* allocate(size_t bytes) {
  void* memory = aligned_alloc(64, (bytes / 64 + 1) * 64);
  if (memory == NULL) fail("out of memory");
  return memory;
}

// For qsort of doubles.
static inline int ascending(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

// What the library says about itself, its first words, fit for a JSON string.
static inline const char* library_version(void) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  for (char* c = version; *c != 0; ++c) {
    if (*c == ',' || *c == '\n') {
      *c = 0;
      break;
    }
    if (*c == '"' || *c == '\\' || !isprint((unsigned char)*c)) *c = ' ';
  }
  return version;
}
