#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "conjugate_gradient/solver.h"
#include "stretto/core/runtime.h"

// What several tests of this folder need.

namespace conjugate_gradient {

inline SolverOptions with(Method method, double tolerance = 1e-8, std::size_t max_iterations = 0) {
  SolverOptions options;
  options.method = method;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  return options;
}

/// Runs `main` on every node of `fabric`, with two workers.
inline void run_on(const std::string& fabric, stretto::Runtime::Main main) {
  stretto::RuntimeOptions options;
  options.fabric = fabric;
  options.workers = 2;
  stretto::Runtime runtime(options);
  runtime.run(std::move(main));
}

}  // namespace conjugate_gradient
