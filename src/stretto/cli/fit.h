#pragma once

#include <span>
#include <string>
#include <vector>

#include "stretto/schedule/select.h"

namespace stretto::cli {

/// How far predictions are off: the larger one of predicted and measured by the smaller one, so 1 at least; infinitely
/// where only one of them is 0.
struct FitError {
  double median = 1;
  double worst = 1;
};

/// REQUIRES: as many of both, more than none, none below 0.
FitError error_of_predictions(std::span<const double> predicted, std::span<const double> measured);

/// "1.3 times".
std::string format_factor(double factor);

std::vector<double> predictions_of(std::span<const schedule::Candidate> candidates);

/// A candidate that was measured.
struct Sample {
  schedule::Candidate candidate;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

/// What prices samples with `costs`.
std::vector<double> predictions_of(std::span<const Sample> samples, const schedule::Placement& placement,
                                   const schedule::Costs& costs);

/// That of the first nodes of each host, where a host has `most` nodes at most: a machine has as many of them as it has
/// hosts.
schedule::Placement placement_of_firsts(schedule::Placement placement, schedule::Rank most);

/// The costs by which predictions are nearest to what was measured: the least sum of squares of the logarithms of
/// their ratios, by a pattern search on the logarithms of the costs from `start`. Costs that no sample depends on stay
/// as they are; those that are 0 there, too. All are as schedule::bounded() has them, `start` too. A pure function.
schedule::Costs fit_costs(std::span<const Sample> samples, const schedule::Placement& placement,
                          const schedule::Costs& start);

}  // namespace stretto::cli
