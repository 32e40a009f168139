// What the MPI programs of all benchmarks need; C11.
#pragma once

#include <ctype.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// The command line that all of them understand.

enum { most_words = 32 };  // of a list between commas

typedef struct {
  const char* rival;
  size_t sizes[most_words];  // bytes, of whole doubles
  int size_count;
  double seconds;  // that each measurement takes, about
} Options;

// "4096", "64K" or "1M".
static inline size_t size_from(const char* text) {
  char* end;
  size_t size = strtoul(text, &end, 10);
  if (*end == 'K' || *end == 'M') size <<= *end++ == 'K' ? 10 : 20;
  if (*end != 0 || size == 0 || size % sizeof(double) != 0) fail("sizes are multiples of 8 bytes, as 8, 64K or 1M");
  return size;
}

// Cuts the list, which it changes, into words; returns how many.
static inline int words_of(char* list, const char* words[most_words]) {
  int count = 0;
  for (char* word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    if (count == most_words) fail("the list is too long");
    words[count++] = word;
  }
  return count;
}

// Returns whether there is such an option.
static inline int set_option(Options* options, const char* name, char* value) {
  if (!strcmp(name, "--rival")) {
    options->rival = value;
  } else if (!strcmp(name, "--seconds")) {
    options->seconds = atof(value);
  } else if (!strcmp(name, "--sizes")) {
    const char* words[most_words];
    options->size_count = words_of(value, words);
    for (int i = 0; i < options->size_count; ++i) options->sizes[i] = size_from(words[i]);
  } else {
    return 0;
  }
  return 1;
}

// `options` are those where nothing else is asked for.
static inline Options options_from(int argc, char** argv, Options options) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) fail("each option needs a value");
    if (!set_option(&options, argv[i], argv[i + 1])) fail("the options are --rival, --sizes and --seconds");
  }
  return options;
}
