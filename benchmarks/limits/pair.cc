#include "limits/pair.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "stretto/base/finish_look.h"
#include "stretto/base/mapping.h"
#include "stretto/base/sanitizers.h"

namespace limits_bench {
namespace {

double input_value(int rank, std::size_t index) { return rank + 1 + 1024.0 * double(index % 251); }

// The choice is made before the thread sanitizer is up, and would end the program.
#if defined(STRETTO_TSAN)
#define LIMITS_BENCH_WIDEST
#else
#define LIMITS_BENCH_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/// With the widest vectors that the machine has.
LIMITS_BENCH_WIDEST void add(const double* a, const double* b, double* first, double* second, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double sum = a[i] + b[i];
    first[i] = sum;
    second[i] = sum;
  }
}

}  // namespace

Pair::Pair(std::size_t elements) : elements_(elements) {
  for (int rank = 0; rank < 2; ++rank) {
    sides_[rank].input = make_doubles(elements);
    sides_[rank].output = make_doubles(elements);
    for (std::size_t i = 0; i < elements; ++i) sides_[rank].input[i] = input_value(rank, i);
  }
}

Pair::Doubles Pair::make_doubles(std::size_t count) {
  using stretto::huge_page_bytes;
  const std::size_t bytes = (count * sizeof(double) + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  void* const memory = std::aligned_alloc(huge_page_bytes, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // advice: not every system takes it
  std::memset(memory, 0, bytes);
  return Doubles(static_cast<double*>(memory));
}

const Pair::Line& Pair::exchange(int rank, const double* values, std::size_t count) {
  Side& mine = sides_[rank];
  const std::uint64_t number = ++mine.exchanges;
  Line& to_write = mine.lines[number % 2];
  std::copy_n(values, count, to_write.values);
  to_write.number.store(number, std::memory_order_release);
  const Line& to_read = sides_[1 - rank].lines[number % 2];
  while (to_read.number.load(std::memory_order_acquire) != number) stretto::finish_look_at_line();
  return to_read;
}

void Pair::allreduce(int rank) {
  if (elements_ > most_in_line) {
    meet(rank);
    reduce_half(rank);
    meet(rank);
    return;
  }
  Side& mine = sides_[rank];
  const Line& theirs = exchange(rank, mine.input.get(), elements_);
  for (std::size_t i = 0; i < elements_; ++i) mine.output[i] = mine.input[i] + theirs.values[i];
}

void Pair::verify() const {
  for (const Side& side : sides_) {
    for (std::size_t i = 0; i < elements_; ++i) {
      if (side.output[i] == input_value(0, i) + input_value(1, i)) continue;
      throw std::runtime_error("element " + std::to_string(i) + " is wrong");
    }
  }
}

void Pair::reduce_half(int rank) {
  const std::size_t middle = elements_ / 2;
  const std::size_t first = rank == 0 ? 0 : middle;
  const std::size_t count = rank == 0 ? middle : elements_ - middle;
  add(sides_[0].input.get() + first, sides_[1].input.get() + first, sides_[0].output.get() + first,
      sides_[1].output.get() + first, count);
}

}  // namespace limits_bench
