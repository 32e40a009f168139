#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/log.h"
#include "stretto/fabric/occupancy.h"
#include "stretto/fabric/sim/sim_options.h"

namespace stretto {

/// What a tuning table is: a text whose meaning is up to the layers above. All nodes of a job have the same.
struct Tuning {
  std::string text;    ///< empty: none
  std::string origin;  ///< for people: the file
};

/// Where the nodes of a job are, for the layers above. The same at all of them.
struct Surroundings {
  fabric::Occupancy occupancy;  ///< of the machine, or the worker threads, that are fullest
  bool one_process = true;      ///< all nodes are objects of this process
  /// By node, numbers that differ where the hosts do; empty where all are on one, or that does not matter.
  std::vector<std::uint32_t> hosts;
  const fabric::SimOptions* simulated = nullptr;  ///< the machine, where it is one
  Tuning tuning;
  bool reproducible = false;  ///< all reductions are to be
  bool check_calls = false;   ///< see RuntimeOptions
  LogLevel log_level = LogLevel::warning;
  std::size_t staging_bytes = 0;  ///< see RuntimeOptions
};

}  // namespace stretto
