#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "statistics/findings.h"
#include "statistics/options.h"
#include "stretto/program/tally.h"

namespace statistics {

using stretto::program::CombineTallies;
using stretto::program::Tally;

/// How long a method's collective took: from the moment a node has its columns' moments to the moment it has all
/// nodes'.
struct Timing {
  Method method = Method::native;
  Tally seconds;
};

/// What a run has found.
struct Outcome {
  Outcome() {}

  std::uint32_t nodes = 0;
  bool simulated = false;  ///< times are virtual
  std::vector<std::string> names;
  std::uint64_t rows = 0;
  Findings findings;              ///< by the first method
  std::vector<Timing> timings;    ///< of each method
  double methods_difference = 0;  ///< see difference(); 0 of one method
  bool nodes_agree = false;       ///< all have got the same bits

  bool correct() const;
};

/// For people, several lines.
std::string describe(const Outcome& outcome, const Options& options);
/// One JSON object on one line, without an end of line. What is not defined is null.
std::string to_json(const Outcome& outcome, const Options& options);
/// Rows of names.size() + 1 deviations as CSV, with a header; what is not there is an empty field.
std::string deviations_csv(std::span<const std::string> names, std::span<const double> deviations);

}  // namespace statistics
