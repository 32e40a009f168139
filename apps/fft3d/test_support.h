#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "fft3d/experiment.h"
#include "stretto/program/test_support.h"

// What several tests of this folder need.

namespace fft3d {

/// Runs the application on a fabric, in this process; the outcome is node 0's.
inline Outcome run_on(const std::string& fabric, const Options& options) {
  return stretto::program::test::result_on<Outcome>(fabric,
                                                    [&](stretto::Node& node) { return run_experiment(node, options); });
}

/// The sum of data[j] exp(sign 2 pi i j k / size), by definition.
inline std::vector<Complex> by_definition(const std::vector<Complex>& data, int sign) {
  std::vector<Complex> result(data.size());
  for (std::size_t k = 0; k < data.size(); ++k) {
    for (std::size_t j = 0; j < data.size(); ++j) {
      const double turn = static_cast<double>(j * k % data.size()) / static_cast<double>(data.size());
      result[k] += data[j] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
    }
  }
  return result;
}

}  // namespace fft3d
