#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "statistics/options.h"
#include "statistics/share.h"
#include "stretto/core/node.h"
#include "stretto/core/task.h"

namespace statistics {

/// What one node says about its share.
struct Summary {
  static Summary of(const Share& share);

  std::uint64_t rows = 0;
  std::uint64_t lines = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t has_complaint = 0;
};

/// What all nodes then know.
struct Agreement {
  Agreement() {}

  std::vector<std::size_t> rows;         ///< by node
  std::optional<std::string> complaint;  ///< the first line's that is wrong, in words for the user; all stop then
};

/// "FILE:LINE: text": the lines of the shares before are counted, too.
std::string place(const Complaint& complaint, const Share& share, const Source& source,
                  std::span<const Summary> before);

/// Every node calls it once. Nobody goes on where one cannot: all get the complaint of the first node that has one.
stretto::Task<Agreement> agree(stretto::Node& node, const Source& source, const Share& share);

}  // namespace statistics
