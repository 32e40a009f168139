#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fft3d/options.h"
#include "stretto/program/tally.h"

namespace fft3d {

using stretto::program::CombineTallies;
using stretto::program::Tally;

/// Of one way to run: how long a node's forward transform takes, from the moment all begin to its own end.
struct Run {
  Overlap overlap = Overlap::on;
  Tally seconds;
  double round_trip_error = 0;         ///< the largest difference after forward and back, of numbers of [-1, 1)
  std::optional<double> serial_error;  ///< the largest difference from a serial transform, by its largest value
};

/// What a run has found, over all nodes.
struct Outcome {
  Outcome() {}

  std::string program;
  std::uint32_t nodes = 0;
  bool simulated = false;       ///< times are virtual
  std::size_t block_bytes = 0;  ///< what a node gives to another at a time, at most
  std::vector<Run> runs;

  bool correct() const;
};

/// For people, several lines.
std::string describe(const Outcome& outcome, const Options& options);
/// One JSON object on one line, without an end of line.
std::string to_json(const Outcome& outcome, const Options& options);

}  // namespace fft3d
