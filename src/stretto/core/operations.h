#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/core/event.h"

namespace stretto {

/// A part of a node that has operations under way with other nodes, in memory of those who asked for them. Everything
/// here is called under the node's baton.
class Operations {
 public:
  enum class Which : std::uint8_t {
    now,             ///< everything that waits
    since_last_look  ///< what waited at the last look already, and has not been told
  };

  virtual ~Operations() = default;
  /// Looks, and appends a sentence for each operation that waits, naming the nodes it waits for.
  virtual void look(Which which, std::vector<std::string>& sentences) = 0;
  /// Nothing goes on from now on: what is under way fails, and so does all that is yet to begin, which touches no
  /// memory. Any number of times; the first cause stays.
  virtual void cancel(const Cause& cause) = 0;
  /// Whether none is left that has begun: then nobody touches the memory of those who asked for them.
  virtual bool over() = 0;
};

}  // namespace stretto
