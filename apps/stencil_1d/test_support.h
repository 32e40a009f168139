#pragma once

#include <string>

#include "stencil_1d/experiment.h"
#include "stretto/core/runtime.h"

namespace stencil_1d {

/// Runs the application on a fabric, in this process; the outcome is node 0's.
inline Outcome run_on(const std::string& fabric, const Options& options) {
  stretto::RuntimeOptions runtime_options;
  runtime_options.fabric = fabric;
  runtime_options.workers = 2;
  Outcome of_node_0;
  stretto::Runtime runtime(runtime_options);
  runtime.run([&](stretto::Node& node) -> stretto::Task<> {
    const Outcome outcome = co_await run_experiment(node, options);
    if (node.id() == 0) of_node_0 = outcome;
  });
  return of_node_0;
}

}  // namespace stencil_1d
