#pragma once

#include "fft3d/options.h"
#include "fft3d/report.h"
#include "fft3d/slabs.h"
#include "stretto/core/node.h"
#include "stretto/core/task.h"

namespace fft3d {

/// Runs the whole application on this node; every node of the job calls it with the same options. All get the same
/// outcome, but for the comparison with a serial transform, which is node 0's.
stretto::Task<Outcome> run_experiment(stretto::Node& node, const Options& options);

}  // namespace fft3d
