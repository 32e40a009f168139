#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto {

/// A part of a node that waits for other nodes, and can say for which.
class MayStall {
 public:
  enum class Which : std::uint8_t {
    now,             ///< everything that waits
    since_last_look  ///< what waited at the last look already, and has not been told
  };

  virtual ~MayStall() = default;
  /// Under the node's baton: looks, and appends a sentence for each operation that waits, naming the nodes it waits
  /// for.
  virtual void look(Which which, std::vector<std::string>& sentences) = 0;
};

}  // namespace stretto
