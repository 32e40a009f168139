#include "stencil_1d/experiment.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "stencil_1d/problem.h"
#include "stencil_1d/test_support.h"

namespace stencil_1d {
namespace {

Options short_run(Method method) {
  Options options;
  options.method = method;
  options.points = 50;
  options.iterations = 8;
  options.skip = 2;
  return options;
}

void expect_right(const Outcome& outcome, const Options& options, std::uint32_t nodes) {
  EXPECT_EQ(outcome.nodes, nodes);
  EXPECT_EQ(outcome.method, name_of(options.method));
  EXPECT_TRUE(outcome.nodes_agree);
  ASSERT_TRUE(outcome.agrees_with_serial.has_value());
  EXPECT_TRUE(*outcome.agrees_with_serial);
  EXPECT_EQ(outcome.result, serial_results(Grid(nodes, options.points), options.iterations).back());
  EXPECT_LT(outcome.error, 1e-6);
  EXPECT_EQ(outcome.iteration.count, nodes * (options.iterations - options.skip));
  EXPECT_EQ(outcome.collective.count, outcome.iteration.count);
  EXPECT_LE(outcome.collective.mean(), outcome.iteration.mean());
}

constexpr Method methods[] = {Method::native, Method::tasks, Method::aggregate};

class AgreesWithSerial : public testing::TestWithParam<std::tuple<Method, std::string, std::uint32_t>> {};

TEST_P(AgreesWithSerial, BitForBit) {
  const auto& [method, fabric, nodes] = GetParam();
  const Options options = short_run(method);
  const Outcome outcome = run_on(fabric + ":" + std::to_string(nodes), options);
  expect_right(outcome, options, nodes);
  EXPECT_EQ(outcome.simulated, fabric == "sim");
}

INSTANTIATE_TEST_SUITE_P(All, AgreesWithSerial,
                         testing::Combine(testing::ValuesIn(methods), testing::Values("local", "sim"),
                                          testing::Values(1U, 2U, 3U, 4U, 7U, 8U, 16U)),
                         [](const auto& each) {
                           return std::string(name_of(std::get<0>(each.param))) + "_" + std::get<1>(each.param) + "_" +
                                  std::to_string(std::get<2>(each.param));
                         });

class EveryMethod : public testing::TestWithParam<Method> {};

TEST_P(EveryMethod, WithstandsReorderingAndDelays) {
  for (int seed = 1; seed <= 20; ++seed) {
    const Options options = short_run(GetParam());
    const Outcome outcome =
        run_on("sim:6,jitter=3us,reorder=0.3,delay=20us,delay_probability=0.05,task=0.5us,seed=" + std::to_string(seed),
               options);
    expect_right(outcome, options, 6);
  }
}

TEST_P(EveryMethod, TakesTheSmallestShards) {
  for (const std::size_t points : {2U, 3U, 4U, 5U}) {
    Options options = short_run(GetParam());
    options.points = points;
    const Outcome outcome = run_on("sim:3", options);
    EXPECT_TRUE(outcome.correct()) << points;
  }
}

TEST_P(EveryMethod, IsTheSameInEveryRunOfASeed) {
  const std::string fabric = "sim:5,jitter=2us,task=1us,seed=9";
  const Outcome first = run_on(fabric, short_run(GetParam()));
  const Outcome second = run_on(fabric, short_run(GetParam()));
  EXPECT_EQ(first.iteration.minimum, second.iteration.minimum);
  EXPECT_EQ(first.iteration.maximum, second.iteration.maximum);
  EXPECT_EQ(first.iteration.sum, second.iteration.sum);
  EXPECT_EQ(first.collective.sum, second.collective.sum);
}

// Without costs of tasks and messages, an iteration is its computation: half before the ghosts come, half after.
TEST_P(EveryMethod, ChargesItsComputation) {
  Options options = short_run(GetParam());
  options.point_seconds = 1e-6;
  const Outcome outcome = run_on("sim:4,latency=0,overhead=0,bandwidth=1000000GB/s", options);
  EXPECT_GE(outcome.iteration.minimum, 50e-6 - 1e-9);
  // A shard that is ahead serves the others' reads only after half of its next iteration.
  if (GetParam() == Method::tasks) return;
  EXPECT_NEAR(outcome.iteration.mean(), 50e-6, 1e-9);
  EXPECT_NEAR(outcome.collective.mean(), 0, 1e-9);
}

TEST_P(EveryMethod, ALostNodeEndsTheRunWithItsName) {
  for (const char* const kill : {"2@40us", "0@55us", "4#70"}) {
    try {
      run_on(std::string("sim:5,task=1us,kill=") + kill, short_run(GetParam()));
      FAIL() << "node lost at " << kill << " was not missed";
    } catch (const stretto::Error& error) {
      EXPECT_EQ(error.code(), stretto::ErrorCode::peer_lost) << kill << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, testing::ValuesIn(methods),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace stencil_1d
