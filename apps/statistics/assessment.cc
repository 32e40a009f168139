#include "statistics/assessment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace statistics {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// A missing value is NaN and stays it.
double score(double value, const Moments& moments) {
  const double deviation = value - moments.mean;
  if (deviation == 0) return 0;
  const std::optional<double> scale = standard_deviation(moments);
  return scale && *scale > 0 ? deviation / *scale : none;
}

}  // namespace

Deviations CombineDeviations::operator()(const Deviations& a, const Deviations& b) const noexcept {
  return {a.counted + b.counted, a.outliers + b.outliers, std::max(a.largest, b.largest)};
}

std::vector<double> standardise(const Table& table, const Model& model) {
  const std::size_t columns = table.columns.size();
  std::vector<double> result;
  result.reserve(table.rows() * (columns + 1));
  std::vector<double> values(columns);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      values[column] = table.columns[column][row];
      result.push_back(score(values[column], model.columns[column]));
    }
    const bool has_distance = model.covariance.is_regular() && table.is_complete(row);
    result.push_back(has_distance ? model.covariance.distance(values) : none);
  }
  return result;
}

std::vector<Deviations> assess(std::span<const double> deviations, std::size_t width, double threshold) {
  std::vector<Deviations> result(width);
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    const double size = std::abs(deviations[i]);
    if (std::isnan(size)) continue;
    Deviations& column = result[i % width];
    ++column.counted;
    column.outliers += size > threshold ? 1 : 0;
    column.largest = std::max(column.largest, size);
  }
  return result;
}

}  // namespace statistics
