#include "stretto/cli/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace stretto::cli {
namespace {

using schedule::CostField;
using schedule::Costs;

/// So much of a sample's weight keeps each cost where it was, in case samples tell nothing of it.
constexpr double inertia = 0.002;

class Search {
 public:
  Search(std::span<const Sample> samples, const schedule::Placement& placement, const Costs& start)
      : samples_(samples), placement_(placement), start_(start), costs_(start), distance_(distance_of(start)) {}

  Costs run() {
    constexpr double first_factor = 4;
    constexpr double last_factor = 1.01;
    constexpr int most_passes = 20;
    for (double factor = first_factor; factor > last_factor; factor = std::sqrt(factor)) {
      for (int pass = 0; pass < most_passes && improve(factor); ++pass) {
      }
    }
    return costs_;
  }

 private:
  /// Whether some cost is better so much larger or smaller.
  bool improve(double factor) {
    bool any = false;
    for (const CostField& field : schedule::cost_fields) {
      any = step(field, factor) || step(field, 1 / factor) || any;
    }
    return any;
  }

  bool step(const CostField& field, double factor) {
    Costs trial = costs_;
    trial.*field.value = std::min(trial.*field.value * factor, schedule::most_cost);
    const double distance = distance_of(trial);
    if (!(distance < distance_)) return false;
    costs_ = trial;
    distance_ = distance;
    return true;
  }

  double distance_of(const Costs& costs) const {
    double sum = 0;
    const std::vector<double> predicted = predictions_of(samples_, placement_, costs);
    for (std::size_t i = 0; i < samples_.size(); ++i) sum += square_of_log(predicted[i] / samples_[i].seconds);
    for (const CostField& field : schedule::cost_fields) {
      if (start_.*field.value > 0) sum += inertia * square_of_log(costs.*field.value / start_.*field.value);
    }
    return sum;
  }

  static double square_of_log(double ratio) {
    const double log = std::log(ratio);
    return log * log;
  }

  std::span<const Sample> samples_;
  const schedule::Placement& placement_;
  const Costs start_;
  Costs costs_;
  double distance_;
};

}  // namespace

FitError error_of_predictions(std::span<const double> predicted, std::span<const double> measured) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const auto [least, most] = std::minmax(predicted[i], measured[i]);
    ratios.push_back(least == most ? 1 : most / least);
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[ratios.size() / 2], ratios.back()};
}

std::string format_factor(double factor) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g times", factor);
  return text.data();
}

std::vector<double> predictions_of(std::span<const schedule::Candidate> candidates) {
  std::vector<double> seconds;
  for (const schedule::Candidate& each : candidates) seconds.push_back(each.price.seconds);
  return seconds;
}

std::vector<double> predictions_of(std::span<const Sample> samples, const schedule::Placement& placement,
                                   const Costs& costs) {
  std::vector<double> seconds;
  for (const Sample& each : samples) {
    const schedule::Candidate& candidate = each.candidate;
    seconds.push_back(schedule::price(*candidate.algorithm, candidate.shape, each.bytes, placement, costs).seconds);
  }
  return seconds;
}

schedule::Placement placement_of_firsts(schedule::Placement placement, schedule::Rank most) {
  placement.ranks_of_machine = (placement.ranks_of_machine + most - 1) / most;
  return placement;
}

Costs fit_costs(std::span<const Sample> samples, const schedule::Placement& placement, const Costs& start) {
  return Search(samples, placement, schedule::bounded(start)).run();
}

}  // namespace stretto::cli
