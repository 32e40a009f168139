#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "stretto/program/computation.h"

namespace stretto::program {

/// One operation under a computation: seconds from when both began.
struct Overlapped {
  double completed = 0;       ///< the operation, at the last rank
  double first_computed = 0;  ///< the computation, at the first rank
  double together = 0;        ///< both, at the last rank
  double computing = 0;       ///< what the computation itself took, where it took longest
  /// What a rank spent outside of its own: it issued the operation and waited for it. Where it spent most.
  double waited = 0;
};

/// What repetitions of that come to. All are medians where nothing is said; of an even number the upper one of two.
struct OverlapSummary {
  int iterations = 0;
  int factor = 0;            ///< so many times as long as the operation alone was the computation to take
  int before_end = 0;        ///< how often the operation was complete before any computation had ended
  double alone_seconds = 0;  ///< the operation
  double completion_seconds = 0;
  double slowest_completion_seconds = 0;
  double computation_seconds = 0;  ///< alone
  double slowdown = 0;             ///< of the computation, a factor
  /// What both take together beyond the computation alone, by the operation alone: the computation's slowdown is in it.
  double exposed = 0;
  /// As OSU's benchmarks have it (print_stats_nbc in their osu_util_mpi.c): 1 less what a rank spends outside of its
  /// computation, as that takes beside the operation, by the operation alone; 0 at least. They take means over calls
  /// and ranks.
  double overlap = 0;

  /// Into an object of JSON, under the names that benchmarks/compare.py reads.
  template <class Json>
  void write_to(Json& row) const {
    row["iterations"] = iterations;
    row["factor"] = factor;
    row["completed_before_computation_ended"] = before_end;
    row["alone_seconds"] = alone_seconds;
    row["completion_seconds"] = completion_seconds;
    row["slowest_completion_seconds"] = slowest_completion_seconds;
    row["computation_seconds"] = computation_seconds;
    row["slowdown"] = slowdown;
    row["exposed"] = exposed;
    row["overlap"] = overlap;
  }
};

/// Takes repetitions, each with the computation alone beside it, since a machine's speed changes.
class OverlapTally {
 public:
  /// `alone_seconds`: of the operation. The computation takes `factor` times as long.
  OverlapTally(int factor, double alone_seconds) : factor_(factor), alone_seconds_(alone_seconds) {}

  /// `computation_seconds`: alone, at the last rank.
  void add(double computation_seconds, const Overlapped& times);
  /// REQUIRES: something was added.
  OverlapSummary summary() const;

 private:
  int factor_;
  double alone_seconds_;
  int before_end_ = 0;
  std::vector<double> completions_;
  std::vector<double> computations_;
  std::vector<double> slowdowns_;
  std::vector<double> exposed_;
  std::vector<double> waits_;
};

/// Measures an operation under the computation of computation.h, by ranks that are threads or processes of their own;
/// each calls it. The computation takes `factor` times as long as the operation. `computation_alone(steps)` returns its
/// seconds at the last rank; `overlapped_call(steps)` issues the operation, computes, and returns what all ranks have
/// seen.
template <class Computation, class Call>
OverlapSummary measure_overlap(int factor, double alone_seconds, Computation computation_alone, Call overlapped_call) {
  double timed_seconds = computation_alone(std::size_t(timed_steps));
  for (int i = 1; i < timings; ++i) {
    timed_seconds = std::min(timed_seconds, computation_alone(std::size_t(timed_steps)));
  }
  const std::size_t steps = steps_of_overlap(factor, alone_seconds, timed_seconds);
  OverlapTally tally(factor, alone_seconds);
  overlapped_call(steps);  // warms up
  for (int i = 0; i < overlap_repetitions; ++i) {
    const double computation = computation_alone(steps);
    tally.add(computation, overlapped_call(steps));
  }
  return tally.summary();
}

}  // namespace stretto::program
