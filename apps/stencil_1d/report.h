#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stencil_1d/options.h"
#include "stretto/program/tally.h"

namespace stencil_1d {

using stretto::program::CombineTallies;
using stretto::program::Tally;

/// When the iterations of one shard began and its derivatives were there, in seconds. Iteration i lasts from begun[i]
/// to begun[i + 1], where the sum of all shards has come; its collective lasts from derived[i] to there.
struct Record {
  std::vector<double> begun;
  std::vector<double> derived;

  /// Of iterations `skip` and later.
  Tally iterations(std::size_t skip) const;
  Tally collectives(std::size_t skip) const;
};

/// What a run has found, over all shards and all iterations that count.
struct Outcome {
  Outcome() {}

  std::uint32_t nodes = 0;
  std::string method;
  bool simulated = false;  ///< times are virtual
  Tally iteration;
  Tally collective;
  double result = 0;                       ///< the last iteration's sum
  double error = 0;                        ///< of the last derivative, the largest of all points
  bool nodes_agree = false;                ///< all shards have got the same bits in every iteration
  std::optional<bool> agrees_with_serial;  ///< and a serial run gives them too

  bool correct() const { return nodes_agree && agrees_with_serial.value_or(true); }
};

/// For people, several lines.
std::string describe(const Outcome& outcome, const Options& options);
/// One JSON object on one line, without an end of line.
std::string to_json(const Outcome& outcome, const Options& options);

}  // namespace stencil_1d
