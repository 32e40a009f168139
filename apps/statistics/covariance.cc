#include "statistics/covariance.h"

#include <cmath>

namespace statistics {
namespace {

// Of the correlation matrix' Cholesky factor: the share of a column's variance that the columns before do not explain.
constexpr double least_pivot = 1e-12;

/// Of the pairs in `rows`, combined in pairs of halves like Moments::of.
CoMoment of_pairs(const std::vector<double>& x, const std::vector<double>& y, std::span<const std::size_t> rows) {
  if (rows.empty()) return {};
  if (rows.size() == 1) return {1, x[rows[0]], y[rows[0]], 0};
  const std::size_t half = rows.size() / 2;
  return CombineCoMoments()(of_pairs(x, y, rows.first(half)), of_pairs(x, y, rows.subspan(half)));
}

}  // namespace

CoMoment CombineCoMoments::operator()(const CoMoment& a, const CoMoment& b) const noexcept {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const auto na = static_cast<double>(a.count);
  const auto nb = static_cast<double>(b.count);
  const double n = na + nb;
  const double delta_x = b.mean_x - a.mean_x;
  const double delta_y = b.mean_y - a.mean_y;
  return {a.count + b.count, a.mean_x + delta_x * nb / n, a.mean_y + delta_y * nb / n,
          a.sum + b.sum + delta_x * delta_y * na * nb / n};
}

std::vector<CoMoment> co_moments(const Table& table) {
  std::vector<std::size_t> complete;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.is_complete(row)) complete.push_back(row);
  }
  std::vector<CoMoment> result;
  for (std::size_t x = 0; x < table.columns.size(); ++x) {
    for (std::size_t y = x; y < table.columns.size(); ++y) {
      result.push_back(of_pairs(table.columns[x], table.columns[y], complete));
    }
  }
  return result;
}

Covariance::Covariance(std::size_t columns, std::span<const CoMoment> pairs)
    : rows_(pairs.empty() ? 0 : pairs.front().count), means_(columns), sums_(columns * columns) {
  std::size_t next = 0;
  for (std::size_t x = 0; x < columns; ++x) {
    means_[x] = pairs[next].mean_x;
    for (std::size_t y = x; y < columns; ++y, ++next) {
      sums_[x * columns + y] = sums_[y * columns + x] = pairs[next].sum;
    }
  }
  factor();
}

std::optional<double> Covariance::covariance(std::size_t x, std::size_t y) const {
  if (rows_ < 2) return std::nullopt;
  return sum(x, y) / static_cast<double>(rows_ - 1);
}

std::optional<double> Covariance::correlation(std::size_t x, std::size_t y) const {
  const double scale = std::sqrt(sum(x, x)) * std::sqrt(sum(y, y));
  if (!(scale > 0)) return std::nullopt;
  return x == y ? 1 : sum(x, y) / scale;
}

// Correlations instead of covariances: what is too small does not depend on the columns' units.
void Covariance::factor() {
  const std::size_t k = columns();
  if (rows_ <= k) return;
  std::vector<double> lower(k * k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::optional<double> entry = correlation(i, j);
      if (!entry) return;
      double rest = *entry;
      for (std::size_t l = 0; l < j; ++l) rest -= lower[i * k + l] * lower[j * k + l];
      if (i == j && rest < least_pivot) return;
      lower[i * k + j] = i == j ? std::sqrt(rest) : rest / lower[j * k + j];
    }
  }
  factor_ = std::move(lower);
}

double Covariance::distance(std::span<const double> row) const {
  const std::size_t k = columns();
  std::vector<double> solved(k);  // L solved = standardised row
  double squares = 0;
  for (std::size_t i = 0; i < k; ++i) {
    double rest = (row[i] - means_[i]) / std::sqrt(sum(i, i) / static_cast<double>(rows_ - 1));
    for (std::size_t l = 0; l < i; ++l) rest -= factor_[i * k + l] * solved[l];
    solved[i] = rest / factor_[i * k + i];
    squares += solved[i] * solved[i];
  }
  return std::sqrt(squares);
}

}  // namespace statistics
