#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "statistics/covariance.h"
#include "statistics/moments.h"
#include "statistics/table.h"

namespace statistics {

/// What a table's rows are measured against: the model learned from all rows of the job.
struct Model {
  Model() {}
  Model(std::vector<Moments> moments, std::span<const CoMoment> pairs)
      : columns(std::move(moments)), covariance(columns.size(), pairs) {}

  std::vector<Moments> columns;
  Covariance covariance;
};

/// How far rows deviate from the model.
struct Deviations {
  std::uint64_t counted = 0;
  std::uint64_t outliers = 0;  ///< beyond the threshold
  double largest = 0;
};
struct CombineDeviations {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  Deviations operator()(const Deviations& a, const Deviations& b) const noexcept;
};

/// Row by row, columns + 1 values: |x - mean| in standard deviations with the sign of x - mean, of each column, then
/// Mahalanobis' distance of the row. NaN where a value is missing, and where the model does not define it: a column
/// that does not vary has no standard deviation to measure by, unless the value is the mean: then it is 0.
std::vector<double> standardise(const Table& table, const Model& model);

/// Sums up `deviations`, of rows of `width` values, for each of these.
std::vector<Deviations> assess(std::span<const double> deviations, std::size_t width, double threshold);

}  // namespace statistics
