#pragma once

#include <cstddef>
#include <vector>

#include "stencil_1d/report.h"
#include "stencil_1d/shard.h"
#include "stretto/core/task.h"

namespace stencil_1d {

/// What one shard saw: the sum of every iteration, and when.
struct History {
  History() {}

  std::vector<double> results;
  Record record;
};

/// Many-to-one-to-many, as with the Legion paper's aggregation regions (section III-D): a top-level task on node 0
/// launches the derivative task of every shard, adds up what they return, and launches the next iteration's with the
/// sum. Every node calls it for its shard; all shards must have been attached.
stretto::Task<History> run_aggregate(Shard& shard, std::size_t iterations);

}  // namespace stencil_1d
