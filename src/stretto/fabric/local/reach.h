#pragma once

#include <cstdint>

namespace stretto::fabric {

/// How nodes of one process reach each other's memory.
enum class Reach : std::uint8_t {
  messages,    ///< not: all bytes travel in messages, as between hosts
  segments,    ///< only segments, in place, as processes of one host do
  reads,       ///< segments in place, and all else is read, as processes of one host do that the kernel lets
  everything,  ///< all in place
};

}  // namespace stretto::fabric
