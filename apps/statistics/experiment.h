#pragma once

#include <vector>

#include "statistics/agreement.h"
#include "statistics/options.h"
#include "statistics/report.h"
#include "statistics/share.h"
#include "stretto/core/node.h"
#include "stretto/core/task.h"

namespace statistics {

/// What a node has at the end.
struct NodeResult {
  NodeResult() {}

  Outcome outcome;                 ///< the same at all nodes
  std::vector<double> deviations;  ///< node 0: of all rows in the file's order, if they were asked for
};

/// Runs the analysis on this node's share; every node of the job calls it with the same options, after they have agreed
/// that nothing is wrong with the file.
stretto::Task<NodeResult> run_experiment(stretto::Node& node, const Options& options, const Share& share,
                                         const Agreement& agreement);

}  // namespace statistics
