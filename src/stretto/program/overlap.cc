#include "stretto/program/overlap.h"

#include <algorithm>

#include "stretto/program/median.h"

namespace stretto::program {
void OverlapTally::add(double computation_seconds, const Overlapped& times) {
  before_end_ += times.completed < times.first_computed ? 1 : 0;
  completions_.push_back(times.completed);
  computations_.push_back(computation_seconds);
  slowdowns_.push_back(times.computing / computation_seconds);
  exposed_.push_back((times.together - computation_seconds) / alone_seconds_);
  waits_.push_back(times.waited);
}

OverlapSummary OverlapTally::summary() const {
  OverlapSummary summary;
  summary.iterations = static_cast<int>(completions_.size());
  summary.factor = factor_;
  summary.before_end = before_end_;
  summary.alone_seconds = alone_seconds_;
  summary.completion_seconds = median_of(completions_);
  summary.slowest_completion_seconds = *std::max_element(completions_.begin(), completions_.end());
  summary.computation_seconds = median_of(computations_);
  summary.slowdown = median_of(slowdowns_);
  summary.exposed = median_of(exposed_);
  summary.overlap = std::max(0.0, 1 - median_of(waits_) / alone_seconds_);
  return summary;
}

}  // namespace stretto::program
