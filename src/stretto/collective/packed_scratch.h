#pragma once

#include <cstddef>
#include <vector>

#include "stretto/collective/layout.h"

namespace stretto {

/// What one rank uses of its scratch, line by line (Layout::scratch_alignment). Slots lie in vectors one after the
/// other, and often a block of each is used, so only lines in use have memory, those of lower places first.
class PackedScratch {
 public:
  /// Takes note of a place that is used, if it is in scratch. Before `pack`.
  void add(const Place& place);
  void pack();

  // REQUIRES: it is packed.

  /// Bytes of all lines in use.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Moves a place in scratch to where it has memory: it begins as far into a line as before. One that was not added
  /// has none, and goes anywhere.
  void move(Place& place) const noexcept;

 private:
  struct Lines {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t left_out = 0;  // bytes before them without memory
  };

  std::vector<Lines> used_;  // packed: by place, apart
  std::size_t bytes_ = 0;
};

}  // namespace stretto
