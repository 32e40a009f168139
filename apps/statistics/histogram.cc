#include "statistics/histogram.h"

#include <algorithm>
#include <cmath>

namespace statistics {

Bins::Bins(double minimum, double maximum, std::size_t count)
    : low_(minimum < maximum ? minimum : minimum - 0.5),
      high_(minimum < maximum ? maximum : maximum + 0.5),
      count_(count),
      width_((high_ - low_) / static_cast<double>(count)) {}

double Bins::edge(std::size_t index) const {
  return index == count_ ? high_ : low_ + static_cast<double>(index) * width_;
}

// The edges decide; the quotient only says where to look.
std::size_t Bins::bin_of(double value) const {
  if (!(width_ > 0)) return 0;  // half a unit is less than rounding
  const double place = (value - low_) / width_;
  std::size_t bin = place >= static_cast<double>(count_) ? count_ - 1 : static_cast<std::size_t>(std::max(place, 0.0));
  if (bin > 0 && value < edge(bin)) --bin;
  if (bin + 1 < count_ && value >= edge(bin + 1)) ++bin;
  return bin;
}

void count_values(std::span<const double> values, const Bins& bins, std::span<std::uint64_t> counts) {
  for (const double value : values) {
    if (!std::isnan(value)) ++counts[bins.bin_of(value)];
  }
}

}  // namespace statistics
