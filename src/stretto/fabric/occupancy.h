#pragma once

#include <cstdint>

namespace stretto::fabric {

/// How many nodes of a job share how many cores.
struct Occupancy {
  std::uint32_t nodes = 1;
  std::uint32_t cores = 1;
};

}  // namespace stretto::fabric
