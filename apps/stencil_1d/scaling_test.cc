// The paper's finding (Figs. 4, 6 and 8) on a simulated machine: scalable collectives cost the logarithm of the number
// of nodes, many-to-one-to-many costs their number. Virtual time, hence the same in every run.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stencil_1d/test_support.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/simulate.h"

namespace stencil_1d {
namespace {

constexpr const char* titan = ",latency=1.5us,overhead=0.5us,gap=0.5us,bandwidth=5GB/s,task=1us";
constexpr const char* jitter = ",jitter=0.5us";

std::vector<double> sizes() { return {16, 32, 64, 128}; }

Outcome run_at(Method method, double nodes, const std::string& disorder = jitter) {
  Options options;
  options.method = method;
  options.iterations = 6;
  options.skip = 2;
  options.verify = false;
  return run_on("sim:" + std::to_string(static_cast<int>(nodes)) + titan + disorder, options);
}

std::vector<double> mean_iterations(Method method) {
  std::vector<double> seconds;
  for (const double nodes : sizes()) seconds.push_back(run_at(method, nodes).iteration.mean());
  return seconds;
}

/// The coefficient of determination of the least-squares line through (x, y), and its slope.
struct Line {
  double slope;
  double r_squared;
};
Line fit(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i], syy += y[i] * y[i];
  }
  const double covariance = n * sxy - sx * sy;
  const double variance = n * sxx - sx * sx;
  return {covariance / variance, covariance * covariance / (variance * (n * syy - sy * sy))};
}

std::vector<double> logarithms() {
  std::vector<double> result;
  for (const double nodes : sizes()) result.push_back(std::log2(nodes));
  return result;
}

TEST(Scaling, NativeAndTasksCostTheLogarithm) {
  for (const Method method : {Method::native, Method::tasks}) {
    const Line line = fit(logarithms(), mean_iterations(method));
    EXPECT_GE(line.r_squared, 0.95) << name_of(method);
    EXPECT_GT(line.slope, 1.5e-6) << name_of(method) << ": a round is not free";
  }
}

TEST(Scaling, AggregateCostsTheNumberOfNodes) {
  const std::vector<double> seconds = mean_iterations(Method::aggregate);
  const Line line = fit(sizes(), seconds);
  EXPECT_GE(line.r_squared, 0.95);
  EXPECT_GE(line.slope, 0.4e-6) << "node 0 pays for each shard";
  EXPECT_GT(line.r_squared, fit(logarithms(), seconds).r_squared);
}

TEST(Scaling, AtManyNodesAggregateIsSlowest) {
  const double native = run_at(Method::native, 256).iteration.mean();
  const double tasks = run_at(Method::tasks, 256).iteration.mean();
  const double aggregate = run_at(Method::aggregate, 256).iteration.mean();
  EXPECT_LT(native, tasks);
  EXPECT_LT(tasks, aggregate);
  EXPECT_GT(aggregate, 3 * native);
}

TEST(Scaling, TheCollectiveCostsWhatTheModelPredicts) {
  for (const double nodes : sizes()) {
    stretto::schedule::Shape shape;
    shape.operation = stretto::schedule::Operation::allreduce;
    shape.size = static_cast<stretto::schedule::Rank>(nodes);
    const double predicted = stretto::schedule::simulate(stretto::schedule::find_algorithm("four_way_doubling"), shape,
                                                         8, stretto::schedule::parse_network("titan"))
                                 .maximum;
    const Outcome outcome = run_at(Method::native, nodes, "");
    EXPECT_GE(outcome.collective.minimum, predicted) << nodes;
    // The shards at the ends take one ghost less, are ready earlier by the launch of its task, and wait for the others.
    EXPECT_LE(outcome.collective.maximum, predicted + 1.2e-6) << nodes;
    EXPECT_NEAR(outcome.collective.mean(), predicted, 0.03 * predicted) << nodes;
  }
}

}  // namespace
}  // namespace stencil_1d
