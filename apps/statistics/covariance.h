#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "statistics/table.h"

namespace statistics {

/// Of pairs (x, y): how many, the means, and the sum of the products of their deviations.
struct CoMoment {
  std::uint64_t count = 0;
  double mean_x = 0;
  double mean_y = 0;
  double sum = 0;
};

/// The co-moment of two sets of pairs together (Pebay, as moments.h says).
struct CombineCoMoments {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  CoMoment operator()(const CoMoment& a, const CoMoment& b) const noexcept;
};

/// Pairs of columns x <= y, row by row of the upper triangle.
constexpr std::size_t pairs_of(std::size_t columns) { return columns * (columns + 1) / 2; }

/// Of all pairs of columns. A row in which a value is missing does not count, so that the matrix is one of variances
/// and covariances of the same rows.
std::vector<CoMoment> co_moments(const Table& table);

/// The covariance model: where the complete rows lie, and how they spread.
class Covariance {
 public:
  Covariance() = default;
  /// From the co-moments of pairs_of(columns) pairs.
  Covariance(std::size_t columns, std::span<const CoMoment> pairs);

  std::size_t columns() const { return means_.size(); }
  std::uint64_t rows() const { return rows_; }
  /// Of a column, over the complete rows.
  double mean(std::size_t column) const { return means_[column]; }
  std::span<const double> means() const { return means_; }
  /// Of the products of deviations, the whole matrix by rows.
  std::span<const double> sums() const { return sums_; }
  /// The sum of the products of deviations / (n - 1). Nothing of fewer than two rows.
  std::optional<double> covariance(std::size_t x, std::size_t y) const;
  /// Nothing where one of the two columns does not vary.
  std::optional<double> correlation(std::size_t x, std::size_t y) const;

  /// Whether the matrix can be inverted: enough rows, and no column that follows from others (to about six digits).
  bool is_regular() const { return !factor_.empty(); }
  /// Mahalanobis' distance of a row (columns() values, none missing) from the means: as many standard deviations, where
  /// the columns do not depend on each other. REQUIRES: is_regular().
  double distance(std::span<const double> row) const;

 private:
  double sum(std::size_t x, std::size_t y) const { return sums_[x * columns() + y]; }
  void factor();

  std::uint64_t rows_ = 0;
  std::vector<double> means_;
  std::vector<double> sums_;
  std::vector<double> factor_;  // L of the correlation matrix L L', by rows; empty where there is none
};

}  // namespace statistics
