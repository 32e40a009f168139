#pragma once

#include <cstdint>
#include <vector>

#include "stencil_1d/options.h"
#include "stencil_1d/report.h"
#include "stretto/core/node.h"
#include "stretto/core/task.h"

namespace stencil_1d {

/// Runs the whole application on this node; every node of the job calls it with the same options. All get the same
/// outcome, but for `agrees_with_serial`, which is node 0's.
stretto::Task<Outcome> run_experiment(stretto::Node& node, const Options& options);

}  // namespace stencil_1d
