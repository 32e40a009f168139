#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace limits_bench {

/// Two threads, ranks 0 and 1, and what they share: the all-reduce of a sum of doubles that does nothing else. No calls
/// of a runtime, no messages, no errors, and both operands known to both.
///
/// What fits into a cache line travels in it, behind the number of the exchange. Of what is longer each rank reduces
/// one half, straight from both inputs into both outputs, between two exchanges of a line.
class Pair {
 public:
  /// So many doubles.
  explicit Pair(std::size_t elements);

  // Each is called by both ranks, equally often, each by its own thread.

  /// Returns when the other one has come.
  void meet(int rank) { exchange(rank, nullptr, 0); }
  void allreduce(int rank);
  /// Of the values that both come with; returned to both.
  double greatest(int rank, double value) { return std::max(value, exchange(rank, &value, 1).values[0]); }

  /// Throws std::runtime_error unless both outputs hold the sums.
  void verify() const;

 private:
  static constexpr std::size_t most_in_line = 7;

  /// Apart from each other by two lines of a cache, which some processors fetch together.
  struct alignas(128) Line {
    std::atomic<std::uint64_t> number{0};
    double values[most_in_line] = {};
  };
  struct Free {
    void operator()(double* memory) const { std::free(memory); }
  };
  /// In huge pages, where the system has them, as Stretto's segments are.
  using Doubles = std::unique_ptr<double[], Free>;
  static Doubles make_doubles(std::size_t count);

  /// The lines take turns: who writes one again has heard that the other has read it.
  struct Side {
    Line lines[2];
    std::uint64_t exchanges = 0;
    Doubles input;
    Doubles output;
  };

  const Line& exchange(int rank, const double* values, std::size_t count);
  void reduce_half(int rank);

  std::size_t elements_;
  Side sides_[2];
};

}  // namespace limits_bench
