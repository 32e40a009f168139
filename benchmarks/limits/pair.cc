#include "limits/pair.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "stretto/base/finish_look.h"

namespace limits_bench {
namespace {

double input_value(int rank, std::size_t index) { return rank + 1 + 1024.0 * double(index % 251); }

/// With the widest vectors that the machine has.
__attribute__((target_clones("avx512f", "avx2", "default"))) void add(const double* a, const double* b, double* first,
                                                                      double* second, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double sum = a[i] + b[i];
    first[i] = sum;
    second[i] = sum;
  }
}

}  // namespace

Pair::Pair(std::size_t elements) : elements_(elements) {
  for (int rank = 0; rank < 2; ++rank) {
    sides_[rank].output.resize(elements);
    for (std::size_t i = 0; i < elements; ++i) sides_[rank].input.push_back(input_value(rank, i));
  }
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
  const Line& theirs = exchange(rank, mine.input.data(), elements_);
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
  add(sides_[0].input.data() + first, sides_[1].input.data() + first, sides_[0].output.data() + first,
      sides_[1].output.data() + first, count);
}

}  // namespace limits_bench
