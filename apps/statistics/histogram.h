#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace statistics {

/// Equally wide bins from the least to the greatest value of a column, as NumPy's `histogram` makes them: each holds
/// its lower edge, the last one its upper edge, too. Where all values are the same the bins reach half a unit to either
/// side.
class Bins {
 public:
  /// REQUIRES: minimum <= maximum, count >= 1.
  Bins(double minimum, double maximum, std::size_t count);

  std::size_t count() const { return count_; }
  /// 0 to count().
  double edge(std::size_t index) const;
  /// REQUIRES: edge(0) <= value <= edge(count()).
  std::size_t bin_of(double value) const;

 private:
  double low_;
  double high_;
  std::size_t count_;
  double width_;
};

/// Adds one to the bin of each value that is not missing (NaN). REQUIRES: counts.size() == bins.count().
void count_values(std::span<const double> values, const Bins& bins, std::span<std::uint64_t> counts);

}  // namespace statistics
