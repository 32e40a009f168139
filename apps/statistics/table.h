#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace statistics {

/// Some rows of the chosen columns; NaN where a value is missing.
struct Table {
  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  /// Whether no value is missing in the row.
  bool is_complete(std::size_t row) const {
    for (const std::vector<double>& column : columns) {
      if (std::isnan(column[row])) return false;
    }
    return true;
  }

  std::vector<std::vector<double>> columns;  ///< of one length
};

}  // namespace statistics
