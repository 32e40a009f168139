#pragma once

#include <ostream>
#include <string>

#include "stencil_1d/experiment.h"
#include "stretto/program/test_support.h"

namespace stencil_1d {

/// For messages of tests.
inline void PrintTo(Method method, std::ostream* out) { *out << name_of(method); }

/// Runs the application on a fabric, in this process; the outcome is node 0's.
inline Outcome run_on(const std::string& fabric, const Options& options) {
  return stretto::program::test::result_on<Outcome>(fabric,
                                                    [&](stretto::Node& node) { return run_experiment(node, options); });
}

}  // namespace stencil_1d
