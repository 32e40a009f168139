#pragma once

#include <cstddef>

#include "conjugate_gradient/solver.h"
#include "stretto/core/test_support.h"

// What several tests of this folder need.

namespace conjugate_gradient {

inline SolverOptions with(Method method, double tolerance = 1e-8, std::size_t max_iterations = 0) {
  SolverOptions options;
  options.method = method;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  return options;
}

using stretto::test::run_on;

}  // namespace conjugate_gradient
