#include "statistics/experiment.h"

#include <numeric>
#include <utility>

#include "statistics/aggregate.h"
#include "statistics/meeting.h"
#include "stretto/collective/collective.h"
#include "stretto/core/engine.h"

namespace statistics {

using stretto::Event;
using stretto::Group;
using stretto::Node;
using stretto::Task;

namespace {

constexpr stretto::NodeId root = 0;

/// What one method gives.
struct Run {
  Run() {}

  Findings findings;
  std::vector<double> deviations;  // of this node's rows
  Tally seconds;                   // of this node
};

/// The collective alone, again and again, on any moments; the first time does not count.
Task<Tally> measure(Meeting& meeting, const std::vector<Moments>& moments, std::size_t repeat) {
  Node& node = meeting.node();
  std::vector<Moments> combined(moments.size());
  Tally tally;
  for (std::size_t i = 0; i <= repeat; ++i) {
    const double begin = node.now();
    const double end =
        co_await meeting.combine(std::span<const Moments>(moments), std::span(combined), CombineMoments());
    if (i > 0) tally.add(end - begin);
  }
  co_return tally;
}

Task<Run> run_here(Node& node, Method method, const Table& table, const Options& options) {
  Meeting meeting(node, method);
  Run run;
  run.findings = co_await find_out(meeting, table, options, run.deviations);
  run.seconds = co_await measure(meeting, run.findings.model.columns, options.repeat);
  co_return run;
}

Task<Run> run_method(Node& node, Method method, const Table& table, const Options& options) {
  if (method == Method::native) co_return co_await run_here(node, method, table, options);
  Aggregate& aggregate = Aggregate::attach(node);
  co_await barrier(node, Group::all(node));
  Event led;
  if (node.id() == root) led = node.spawn([&aggregate] { return aggregate.lead(); });
  Run run = co_await run_here(node, method, table, options);
  aggregate.stop();
  co_await led;
  co_return run;
}

Task<bool> same_everywhere(Node& node, std::uint64_t value) {
  const Group all = Group::all(node);
  const std::uint64_t least = co_await allreduce(node, all, value, stretto::minimum);
  const std::uint64_t most = co_await allreduce(node, all, value, stretto::maximum);
  co_return least == most;
}

/// The rows' deviations of all nodes, one after the other, at the root.
Task<std::vector<double>> gather_deviations(Node& node, const std::vector<double>& mine, std::size_t width,
                                            const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> counts;
  for (const std::size_t each : rows) counts.push_back(each * width);
  std::vector<double> all;
  if (node.id() == root) all.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  co_await gather(node, Group::all(node), mine, all, counts, root);
  co_return all;
}

}  // namespace

Task<NodeResult> run_experiment(Node& node, const Options& options, const Share& share, const Agreement& agreement) {
  NodeResult result;
  Outcome& outcome = result.outcome;
  outcome.nodes = node.size();
  outcome.simulated = node.engine().simulated();
  outcome.names = share.layout.names;
  outcome.rows = std::accumulate(agreement.rows.begin(), agreement.rows.end(), std::uint64_t{0});
  outcome.nodes_agree = true;
  std::vector<double> deviations;
  for (const Method method : options.methods) {
    Run run = co_await run_method(node, method, share.table, options);
    const Tally seconds = co_await allreduce(node, Group::all(node), run.seconds, CombineTallies());
    const bool nodes_agree = co_await same_everywhere(node, digest(run.findings));
    outcome.nodes_agree = outcome.nodes_agree && nodes_agree;
    outcome.timings.push_back({method, seconds});
    if (outcome.timings.size() == 1) {
      outcome.findings = std::move(run.findings);
      deviations = std::move(run.deviations);
    } else {
      outcome.methods_difference = difference(outcome.findings, run.findings);
    }
  }
  if (!options.deviations.empty()) {
    result.deviations = co_await gather_deviations(node, deviations, outcome.names.size() + 1, agreement.rows);
  }
  co_return result;
}

}  // namespace statistics
