#include "fft3d/experiment.h"

#include <memory>
#include <utility>

#include "fft3d/exchange.h"
#include "fft3d/field.h"
#include "stretto/collective/collective.h"
#include "stretto/core/engine.h"

namespace fft3d {

using stretto::Group;
using stretto::Node;
using stretto::Task;

namespace {

constexpr stretto::NodeId root = 0;

/// What all rounds work on. A part of its node: where one round fails, others may still be under way.
struct Workspace {
  Workspace(Node& node, const Options& options)
      : slabs(options.n, node.size(), node.id(), options.planes_per_message),
        exchange(node, slabs, options.point_seconds) {}

  static Workspace& attach(Node& node, const Options& options) {
    auto workspace = std::make_shared<Workspace>(node, options);
    node.attach("fft3d.workspace", workspace);
    return *workspace;
  }

  Slabs slabs;
  Exchange exchange;
};

/// The forward transform again and again, each time of the same numbers; the first time does not count.
Task<Tally> measure(Node& node, Slabs& slabs, Exchange& exchange, Overlap overlap, std::size_t repeat) {
  const Group all = Group::all(node);
  Tally tally;
  for (std::size_t i = 0; i <= repeat; ++i) {
    slabs.reset();
    co_await barrier(node, all);
    const double begin = node.now();
    co_await exchange.run(slabs.forward(), overlap);
    if (i > 0) tally.add(node.now() - begin);
  }
  co_return tally;
}

/// Node 0's; the others' is 0.
Task<double> compare_with_serial(Node& node, const Slabs& slabs, const std::array<std::size_t, 3>& n) {
  const std::vector<std::size_t> counts = slabs.transformed_counts();
  std::vector<Complex> whole(node.id() == root ? slabs.size() : 0);
  co_await gather(node, Group::all(node), slabs.transformed(), whole, counts, root);
  co_return node.id() == root ? largest_error(n, whole, serial_transform(n)) : 0;
}

Task<Run> run_once(Node& node, Slabs& slabs, Exchange& exchange, const Options& options, Overlap overlap) {
  const Group all = Group::all(node);
  Run run;
  run.overlap = overlap;
  const Tally mine = co_await measure(node, slabs, exchange, overlap, options.repeat);
  run.seconds = co_await allreduce(node, all, mine, CombineTallies());
  if (options.check) run.serial_error = co_await compare_with_serial(node, slabs, options.n);
  co_await exchange.run(slabs.backward(), overlap);
  run.round_trip_error = co_await allreduce(node, all, slabs.round_trip_error(), stretto::maximum);
  co_return run;
}

}  // namespace

Task<Outcome> run_experiment(Node& node, const Options& options) {
  Workspace& workspace = Workspace::attach(node, options);
  Outcome outcome;
  outcome.program = "fft3d";
  outcome.nodes = node.size();
  outcome.simulated = node.engine().simulated();
  outcome.block_bytes = workspace.slabs.most_block_bytes();
  for (const Overlap overlap : options.overlaps) {
    Run run = co_await run_once(node, workspace.slabs, workspace.exchange, options, overlap);
    outcome.runs.push_back(std::move(run));
  }
  co_return outcome;
}

}  // namespace fft3d
