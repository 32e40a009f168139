#pragma once

#include <string>
#include <vector>

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// What there is to draw of a collective, whatever the format.
struct Picture {
  struct Arrow {
    std::uint32_t round = 0;
    Rank from = 0;
    Rank to = 0;
    std::string label;  ///< the blocks that move, where they differ from message to message: "0-3"; else empty
    std::string what;   ///< for a tooltip: "round 1: rank 2 to rank 0, block 0-3"
  };
  /// What a rank does in a round besides messages.
  struct Work {
    bool copies = false;
    bool reduces = false;
  };

  std::string title;     ///< "recursive doubling"
  std::string subtitle;  ///< "allreduce of 6 ranks: 4 rounds, 12 messages"
  std::string source;
  Shape shape;
  std::uint32_t rounds = 0;
  std::vector<Arrow> arrows;             ///< one for each message
  std::vector<std::vector<Work>> works;  ///< [round][rank]
};

/// Throws as draw_svg does.
Picture picture_of(const Algorithm& algorithm, const Shape& shape);

}  // namespace stretto::schedule
