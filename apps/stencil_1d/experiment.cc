#include "stencil_1d/experiment.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>

#include "stencil_1d/aggregate.h"
#include "stencil_1d/problem.h"
#include "stencil_1d/shard.h"
#include "stencil_1d/task_allreduce.h"
#include "stretto/collective/collective.h"
#include "stretto/core/engine.h"

namespace stencil_1d {

using stretto::Event;
using stretto::Future;
using stretto::Group;
using stretto::Node;
using stretto::Task;

namespace {

/// Adds up the shards' inputs into every shard's output, when the event has triggered.
using Collective = std::function<Event(const double& input, double& output, Event after)>;

/// The shard's task: its iterations one after the other, each with a collective at its end.
Task<History> run_shard(Shard& shard, std::size_t iterations, Collective add_up) {
  Node& node = shard.node();
  History history;
  history.record.begun.push_back(node.now());
  double phase = 0;
  for (std::size_t i = 0; i < iterations; ++i) {
    const Event derived = shard.differentiate(phase);
    const Future<double> derived_at = node.time_of(derived);
    const Event added = add_up(shard.result(), phase, derived);
    const Future<double> added_at = node.time_of(added);
    co_await added;
    history.record.derived.push_back(co_await derived_at);
    history.record.begun.push_back(co_await added_at);
    history.results.push_back(phase);
  }
  co_return history;
}

Task<History> run_native(Shard& shard, std::size_t iterations) {
  Node& node = shard.node();
  const Group all = Group::all(node);
  // Named, since GCC 12 destroys a closure twice that is written inside a co_await expression and holds a destructor.
  const auto reduce = [&node, all](const double& input, double& output, Event after) {
    return allreduce(node, all, std::span<const double>(&input, 1), std::span<double>(&output, 1), stretto::sum,
                     stretto::CollectiveOptions().after(after));
  };
  co_return co_await run_shard(shard, iterations, reduce);
}

Task<History> run_tasks(Shard& shard, std::size_t iterations) {
  Node& node = shard.node();
  TaskAllreduce& task_allreduce = TaskAllreduce::attach(node);
  const Group all = Group::all(node);
  co_await barrier(node, all);
  co_await task_allreduce.connect();
  co_await barrier(node, all);
  co_return co_await run_shard(shard, iterations, [&task_allreduce](const double& input, double& output, Event after) {
    return task_allreduce.start(input, output, after);
  });
}

Task<History> run_method(Shard& shard, const Options& options) {
  switch (options.method) {
    case Method::native: return run_native(shard, options.iterations);
    case Method::tasks: return run_tasks(shard, options.iterations);
    case Method::aggregate: break;
  }
  return run_aggregate(shard, options.iterations);
}

/// Whether all nodes have the same values, to the bit.
Task<bool> same_everywhere(Node& node, const std::vector<double>& values) {
  const Group all = Group::all(node);
  std::vector<std::uint64_t> bits(values.size());  // a minimum of values may pass over NaN
  std::transform(values.begin(), values.end(), bits.begin(), std::bit_cast<std::uint64_t, double>);
  std::vector<std::uint64_t> least(bits.size());
  std::vector<std::uint64_t> most(bits.size());
  co_await allreduce(node, all, bits, least, stretto::minimum);
  co_await allreduce(node, all, bits, most, stretto::maximum);
  co_return least == most;
}

}  // namespace

Task<Outcome> run_experiment(Node& node, const Options& options) {
  const Grid grid(node.size(), options.points);
  const Group all = Group::all(node);
  Shard& shard = Shard::attach(node, grid, options.point_seconds);
  co_await barrier(node, all);
  const History history = co_await run_method(shard, options);

  Outcome outcome;
  outcome.nodes = node.size();
  outcome.method = name_of(options.method);
  outcome.simulated = node.engine().simulated();
  outcome.iteration = co_await allreduce(node, all, history.record.iterations(options.skip), CombineTallies());
  outcome.collective = co_await allreduce(node, all, history.record.collectives(options.skip), CombineTallies());
  outcome.result = history.results.back();
  outcome.error = co_await allreduce(node, all, shard.error(), stretto::maximum);
  outcome.nodes_agree = co_await same_everywhere(node, history.results);
  if (options.verify && node.id() == 0) {
    outcome.agrees_with_serial = history.results == serial_results(grid, options.iterations);
  }
  co_return outcome;
}

}  // namespace stencil_1d
