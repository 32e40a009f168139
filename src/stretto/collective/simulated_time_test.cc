#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/selector.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/runtime.h"
#include "stretto/fabric/sim/sim_fabric.h"
#include "stretto/schedule/simulate.h"

// What the runtime takes on a simulated machine, and what is predicted of it.
namespace stretto {
namespace {

using schedule::Algorithm;
using schedule::Operation;
using schedule::Rank;
using schedule::Shape;

const std::string parameters = ",latency=1.5us,overhead=0.5us,gap=0.6us,bandwidth=5GB/s";
const schedule::Network network{.name = "the same",
                                .latency = 1.5e-6,
                                .overhead = 0.5e-6,
                                .gap = 0.6e-6,
                                .byte_time = 0.2e-9,
                                .reduction_time = 0,
                                .origin = "this test"};

/// Virtual seconds until all nodes are through with `main`, which they begin at once.
double seconds_of(Rank nodes, const std::function<Task<>(Node&)>& main) {
  Runtime runtime(test::options_for("sim:" + std::to_string(nodes) + parameters));
  auto& fabric = static_cast<fabric::SimFabric&>(runtime.fabric());
  runtime.run([&main](Node& node) { return main(node); });
  return fabric::to_seconds(fabric.timeline().now());
}

/// One call of each of `nodes`, vectors or blocks of `count` doubles.
double seconds_of_call(Operation operation, Rank nodes, std::size_t count, const CollectiveOptions& options) {
  return seconds_of(nodes, [&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<double> blocks(count * nodes, 1.0);
    std::vector<double> results(count * nodes);
    const std::span<const double> mine = std::span(blocks).first(count);
    const std::span<double> result = std::span(results).first(count);
    switch (operation) {
      case Operation::barrier: co_await barrier(node, all, options); break;
      case Operation::broadcast: co_await broadcast(node, all, result, 0, options); break;
      case Operation::reduce: co_await reduce(node, all, mine, result, sum, 0, options); break;
      case Operation::allreduce: co_await allreduce(node, all, mine, result, sum, options); break;
      case Operation::allgather: co_await allgather(node, all, mine, results, options); break;
      case Operation::gather: co_await gather(node, all, mine, results, 0, options); break;
      case Operation::scatter: co_await scatter(node, all, blocks, result, 0, options); break;
      case Operation::reduce_scatter: co_await reduce_scatter(node, all, blocks, result, sum, options); break;
      case Operation::all_to_all: co_await all_to_all(node, all, blocks, results, options); break;
      case Operation::scan: co_await scan(node, all, mine, result, sum, options); break;
      case Operation::exscan: co_await exscan(node, all, mine, result, sum, options); break;
      case Operation::general_reduce: break;
    }
  });
}

// Small messages: what is large is asked for, which LogGP knows nothing of.
TEST(SimulatedTime, IsWhatLogGpSaysOfEachAlgorithm) {
  double sum_of_errors = 0;
  int calls = 0;
  for (const Algorithm* const algorithm : schedule::algorithms()) {
    if (algorithm->operation() == Operation::general_reduce || algorithm->needs_hosts()) continue;
    for (const Rank nodes : {2U, 5U, 7U, 8U}) {
      for (const std::uint32_t segments : {1U, 3U}) {
        const Shape plain{.operation = algorithm->operation(), .size = nodes};
        if (segments > algorithm->blocking(plain).most_segments) continue;
        const Shape shape = algorithm->with_segments(plain, segments);
        if (!algorithm->supports(shape)) continue;
        for (const std::size_t count : {1U, 64U}) {
          const double predicted = simulate(*algorithm, shape, count * sizeof(double), network).maximum;
          const auto named = CollectiveOptions().algorithm(algorithm->name(), segments);
          const double error = std::abs(std::log(predicted / seconds_of_call(shape.operation, nodes, count, named)));
          EXPECT_LE(error, std::log(1.7)) << algorithm->name() << ", " << describe(shape) << ", " << count;
          sum_of_errors += error;
          ++calls;
        }
      }
    }
  }
  EXPECT_GT(calls, 300);
  EXPECT_LE(sum_of_errors, calls * std::log(1.03)) << "geometric mean " << std::exp(sum_of_errors / calls);
}

// All give to all: no wire stands idle for long, whichever node is ready first.
TEST(SimulatedTime, OfLargeBlocksThatCrossIsLittleMoreThanTheirWires) {
  constexpr Rank nodes = 7;
  constexpr std::size_t count = 64 * 1024;
  const double wire = (nodes - 1) * static_cast<double>(count * sizeof(double)) * network.byte_time;
  for (const std::string_view name : {"linear_all_to_all", "pairwise_all_to_all", "linear_allgather"}) {
    const Algorithm& algorithm = schedule::find_algorithm(name);
    const auto named = CollectiveOptions().algorithm(name);
    EXPECT_LE(seconds_of_call(algorithm.operation(), nodes, count, named), 1.1 * wire) << name;
  }
}

// Nor in a reduction, where some are a round ahead of others.
TEST(SimulatedTime, OfLargeReductionsIsThatOfTheirRounds) {
  constexpr Rank nodes = 7;
  constexpr std::size_t count = 64 * 1024;
  for (const std::string_view name : {"recursive_doubling", "recursive_halving_reduce_scatter"}) {
    const Algorithm& algorithm = schedule::find_algorithm(name);
    const Shape shape{.operation = algorithm.operation(), .size = nodes};
    const double predicted = simulate(algorithm, shape, count * sizeof(double), network).maximum;
    const auto named = CollectiveOptions().algorithm(name);
    EXPECT_LE(seconds_of_call(shape.operation, nodes, count, named), 1.1 * predicted) << name;
  }
}

// Of what a sender holds since its peer has not begun yet, or is slower, that hears once.
TEST(SimulatedTime, OfAPipelineIsThatOfItsSegmentsAlsoBeyondTheWindow) {
  constexpr Rank nodes = 3;
  constexpr std::size_t count = 128 * 1024;
  const Algorithm& chain = schedule::find_algorithm("chain_broadcast");
  constexpr std::uint32_t segments = 256;  // of 4 KiB
  const Shape shape = chain.with_segments({.operation = Operation::broadcast, .size = nodes}, segments);
  const double predicted = simulate(chain, shape, count * sizeof(double), network).maximum;
  const auto named = CollectiveOptions().algorithm(chain.name(), segments);
  EXPECT_LE(seconds_of_call(Operation::broadcast, nodes, count, named), 1.15 * predicted);
}

// Several reduces at once (the Aspen paper's Fig. 5), as they are priced together.
TEST(SimulatedTime, IsThePriceOfReducesTogether) {
  const ReduceGroups first(Group{0, 1, 2, 3}, Group{0, 2});
  for (const ReduceGroups& second : {ReduceGroups(Group{1, 2}, Group{3}), ReduceGroups(Group{2, 1}, Group{3})}) {
    for (const std::string_view name : {"aspen_general_reduce", "scattered_general_reduce", "linear_general_reduce"}) {
      const Algorithm& algorithm = schedule::find_algorithm(name);
      for (const std::size_t count : {1U, 500U}) {
        std::optional<double> predicted;
        const double taken = seconds_of(4, [&](Node& node) -> Task<> {
          std::vector<schedule::PlacedReduce> placed;
          for (const ReduceGroups* const groups : {&first, &second}) {
            const Shape shape{.operation = Operation::general_reduce,
                              .size = groups->members().size(),
                              .contributors = groups->participants(),
                              .inner_receivers = groups->inner_receivers()};
            const auto nodes = groups->members().nodes();
            placed.push_back(
                {&algorithm, algorithm.with_segments(shape), {nodes.begin(), nodes.end()}, count * sizeof(double)});
          }
          if (node.id() == 0) predicted = Selector(node.surroundings()).seconds_together(placed);
          const std::vector<double> data(count, 1.0);
          std::vector<double> one(count);
          std::vector<double> other(count);
          const auto named = CollectiveOptions().algorithm(name);
          const std::vector<Event> done = concurrent(
              node, {reduce_call(first, count, data, one, sum), reduce_call(second, count, data, other, sum)}, named,
              Together::as_given);
          for (const Event each : done) co_await each;
        });
        ASSERT_TRUE(predicted);
        EXPECT_NEAR(taken / *predicted, 1, 0.15) << name << ", " << count << " doubles";
      }
    }
  }
}

}  // namespace
}  // namespace stretto
