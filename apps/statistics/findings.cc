#include "statistics/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "statistics/histogram.h"
#include "stretto/base/hash.h"
#include "stretto/program/larger_error.h"

namespace statistics {

using stretto::Task;
using stretto::program::larger_error;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<Moments> moments_of(const Table& table) {
  std::vector<Moments> result;
  for (const std::vector<double>& column : table.columns) result.push_back(Moments::of(column));
  return result;
}

std::vector<std::uint64_t> count_bins(const Table& table, const std::vector<Moments>& columns, std::size_t bins) {
  std::vector<std::uint64_t> counts(columns.size() * bins);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].count == 0) continue;
    count_values(table.columns[i], Bins(columns[i].minimum, columns[i].maximum, bins),
                 std::span(counts).subspan(i * bins, bins));
  }
  return counts;
}

/// Of two statistics, which both are there or not.
double apart(const std::optional<double>& a, const std::optional<double>& b) {
  if (a.has_value() != b.has_value()) return infinite;
  return a ? std::abs(*a - *b) / std::max(1.0, std::abs(*a)) : 0;
}

/// How many standard deviations the values of a column are from zero, and at least 1: what a unit of rounding is
/// multiplied by.
double condition(const Moments& moments) {
  const double scale = standard_deviation(moments).value_or(0);
  const double largest = std::max(std::abs(moments.minimum), std::abs(moments.maximum));
  return scale > 0 ? 1 + largest / scale : 1;
}

double column_difference(const Moments& a, const Moments& b) {
  if (a.count != b.count) return infinite;
  if (a.count == 0) return 0;
  if (a.minimum != b.minimum || a.maximum != b.maximum) return infinite;
  const double scale = standard_deviation(a).value_or(0);
  if (!(scale > 0)) return a.mean == b.mean && a.m2 == b.m2 ? 0 : infinite;
  double largest = std::abs(a.mean - b.mean) / scale;
  for (const double each :
       {std::abs(std::log(b.m2 / a.m2)), apart(skewness(a), skewness(b)), apart(kurtosis(a), kurtosis(b))}) {
    largest = larger_error(largest, each);
  }
  return largest / condition(a);
}

}  // namespace

Task<Findings> find_out(Meeting& meeting, const Table& table, const Options& options, std::vector<double>& deviations) {
  Findings findings;
  const std::vector<Moments> my_moments = moments_of(table);
  std::vector<Moments> moments(my_moments.size());
  co_await meeting.combine(std::span(my_moments), std::span(moments), CombineMoments());

  const std::vector<CoMoment> my_pairs = co_moments(table);
  std::vector<CoMoment> pairs(my_pairs.size());
  co_await meeting.combine(std::span(my_pairs), std::span(pairs), CombineCoMoments());
  findings.model = Model(std::move(moments), pairs);

  const std::vector<std::uint64_t> my_counts = count_bins(table, findings.model.columns, options.bins);
  findings.counts.resize(my_counts.size());
  co_await meeting.combine(std::span(my_counts), std::span(findings.counts), stretto::sum);

  deviations = standardise(table, findings.model);
  const std::vector<Deviations> mine = assess(deviations, table.columns.size() + 1, options.threshold);
  findings.deviations.resize(mine.size());
  co_await meeting.combine(std::span(mine), std::span(findings.deviations), CombineDeviations());
  co_return findings;
}

double difference(const Findings& a, const Findings& b) {
  if (a.counts != b.counts || a.model.covariance.rows() != b.model.covariance.rows()) return infinite;
  const std::vector<Moments>& columns = a.model.columns;
  double largest = 0;
  for (std::size_t x = 0; x < columns.size(); ++x) {
    largest = larger_error(largest, column_difference(columns[x], b.model.columns[x]));
    for (std::size_t y = x; y < columns.size(); ++y) {
      const double by = std::max(condition(columns[x]), condition(columns[y]));
      largest =
          larger_error(largest, apart(a.model.covariance.correlation(x, y), b.model.covariance.correlation(x, y)) / by);
    }
  }
  return largest;
}

std::uint64_t digest(const Findings& findings) {
  std::uint64_t result = stretto::fnv1a_64_start;
  const auto add = [&result](const auto& values) {
    result = stretto::fnv1a_64(std::as_bytes(std::span(values)), result);
  };
  const Covariance& covariance = findings.model.covariance;
  const std::uint64_t rows = covariance.rows();
  add(findings.model.columns);
  add(std::span(&rows, 1));
  add(covariance.means());
  add(covariance.sums());
  add(findings.counts);
  add(findings.deviations);
  return result;
}

}  // namespace statistics
