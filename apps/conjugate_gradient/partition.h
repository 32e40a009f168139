#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "conjugate_gradient/sparse_matrix.h"
#include "stretto/base/ids.h"

namespace conjugate_gradient {

/// Which node owns which rows: contiguous ranges in the order of the nodes, some of them empty when there are more
/// nodes than rows. Immutable, and equal on all nodes.
class Partition {
 public:
  /// REQUIRES: `first_rows` ascends from 0 to the number of rows and has one more element than there are nodes.
  explicit Partition(std::vector<std::size_t> first_rows) : first_rows_(std::move(first_rows)) {}

  std::size_t nodes() const noexcept { return first_rows_.size() - 1; }
  std::size_t rows() const noexcept { return first_rows_.back(); }
  RowRange range(stretto::NodeId node) const { return {first_rows_[node], first_rows_[node + std::size_t{1}]}; }
  /// The node whose range holds `row`. REQUIRES: row < rows().
  stretto::NodeId owner(std::size_t row) const {
    const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
    return static_cast<stretto::NodeId>(after - first_rows_.begin() - 1);
  }

 private:
  std::vector<std::size_t> first_rows_;
};

/// Cuts `rows` rows into `nodes` ranges of about equal numbers of entries: each cut lies where the entries before it
/// come closest to its share. nonzeros_before(row) is a function of a row in [0, rows], never descending.
template <class NonzerosBefore>
Partition partition_by_nonzeros(std::size_t rows, std::size_t nodes, NonzerosBefore&& nonzeros_before) {
  const std::size_t total = nonzeros_before(rows);
  std::vector<std::size_t> first_rows{0};
  for (std::size_t node = 1; node < nodes; ++node) {
    const std::size_t share = total / nodes * node + total % nodes * node / nodes;
    std::size_t low = first_rows.back();
    std::size_t high = rows;
    while (low < high) {  // the first row with at least `share` entries before it
      const std::size_t middle = low + (high - low) / 2;
      if (nonzeros_before(middle) < share) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const bool previous_is_closer =
        low > first_rows.back() && share - nonzeros_before(low - 1) < nonzeros_before(low) - share;
    first_rows.push_back(previous_is_closer ? low - 1 : low);
  }
  first_rows.push_back(rows);
  return Partition(std::move(first_rows));
}

}  // namespace conjugate_gradient
