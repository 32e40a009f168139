#include "stretto/cli/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stretto::cli {
namespace {

using schedule::Costs;
using schedule::Link;
using schedule::Placement;

/// What a machine of such costs would measure.
std::vector<Sample> measured_on(const Costs& costs, const Placement& placement) {
  std::vector<Sample> samples;
  for (const std::string_view name : {"recursive_doubling", "direct_allreduce", "linear_allgather", "linear_broadcast",
                                      "dissemination_barrier", "ring_allreduce", "linear_barrier"}) {
    for (const schedule::Rank size : {2U, 8U}) {
      for (const std::uint64_t bytes : {8U, 4096U, 65536U, 1U << 20U}) {
        Sample sample;
        sample.candidate.algorithm = &schedule::find_algorithm(name);
        sample.candidate.shape = sample.candidate.algorithm->with_segments(
            {.operation = sample.candidate.algorithm->operation(), .size = size});
        sample.bytes = bytes;
        samples.push_back(sample);
      }
    }
  }
  const std::vector<double> seconds = predictions_of(samples, placement, costs);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].seconds = seconds[i];
  return samples;
}

TEST(Fit, FindsTheCostsOfAMachineThatTheModelDescribes) {
  const Placement placement{Link::host, 8, 2};
  Costs costs = schedule::built_in_costs().of(Link::host);
  costs.latency *= 3;
  costs.overhead *= 2.2;
  costs.byte_time /= 2.5;
  costs.copy_time /= 1.7;
  costs.reduction_time *= 1.9;
  costs.turn *= 4;
  const std::vector<Sample> samples = measured_on(costs, placement);
  const Costs found = fit_costs(samples, placement, schedule::built_in_costs().of(Link::host));
  for (const schedule::CostField& field : schedule::cost_fields) {
    if (field.value == &Costs::call || field.value == &Costs::latency) continue;  // hard to tell apart
    if (costs.*field.value == 0) continue;
    EXPECT_NEAR(std::log(found.*field.value / (costs.*field.value)), 0, std::log(1.5)) << field.name;
  }
  std::vector<double> seconds;
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  EXPECT_LT(error_of_predictions(predictions_of(samples, placement, found), seconds).worst, 1.3);
}

TEST(Fit, WhatNoSampleDependsOnStays) {
  const Placement roomy{Link::host, 8, 8};
  const Costs start = schedule::built_in_costs().of(Link::host);
  Costs costs = start;
  costs.overhead *= 2;
  const Costs found = fit_costs(measured_on(costs, roomy), roomy, start);
  EXPECT_EQ(found.turn, start.turn) << "nobody takes turns";
  EXPECT_EQ(found.gap, start.gap) << "there are none in memory";
}

TEST(Fit, CostsAreSuchAsATuningFileMayHave) {
  const Placement placement{Link::host, 8, 2};
  const Costs built_in = schedule::built_in_costs().of(Link::host);
  std::vector<Sample> slow = measured_on(built_in, placement);
  for (Sample& sample : slow) sample.seconds = 100;
  const Costs found = fit_costs(slow, placement, built_in);
  EXPECT_EQ(found, schedule::bounded(found)) << "which no NaN is equal to";
  EXPECT_EQ(std::max({found.call, found.latency, found.overhead}), schedule::most_cost);

  Costs beyond = built_in;
  beyond.latency = std::numeric_limits<double>::infinity();
  beyond.overhead = std::numeric_limits<double>::quiet_NaN();
  beyond.turn = 3.95;
  const Costs from_beyond = fit_costs(measured_on(built_in, placement), placement, beyond);
  EXPECT_EQ(from_beyond, schedule::bounded(from_beyond));
}

TEST(Fit, TheFirstNodesOfHostsAreAsManyOnAMachineAsItHasHosts) {
  const Placement of_all{Link::wire, 4, 2};
  EXPECT_EQ(placement_of_firsts(of_all, 1), of_all) << "four hosts on a machine, a node each";
  EXPECT_EQ(placement_of_firsts(of_all, 4), (Placement{Link::wire, 1, 2}));
  EXPECT_EQ(placement_of_firsts({Link::wire, 8, 4}, 4), (Placement{Link::wire, 2, 4})) << "two containers of four";
  EXPECT_EQ(placement_of_firsts({Link::wire, 7, 4}, 4), (Placement{Link::wire, 2, 4})) << "of four and three";
}

TEST(Fit, ErrorsAreRatiosWhicheverIsLarger) {
  const FitError error = error_of_predictions(std::array{1.0, 2.0, 9.0}, std::array{1.0, 4.0, 3.0});
  EXPECT_EQ(error.median, 2);
  EXPECT_EQ(error.worst, 3);
  EXPECT_EQ(format_factor(1.25), "1.25 times");
}

TEST(Fit, WhatTakesNoTimeIsPredictedRightly) {
  const FitError right = error_of_predictions(std::array{0.0}, std::array{0.0});
  EXPECT_EQ(right.median, 1);
  EXPECT_EQ(right.worst, 1);
  const FitError wrong = error_of_predictions(std::array{0.0, 1.0, 2.0}, std::array{0.0, 1.0, 0.0});
  EXPECT_EQ(wrong.median, 1);
  EXPECT_EQ(wrong.worst, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace stretto::cli
