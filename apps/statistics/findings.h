#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "statistics/assessment.h"
#include "statistics/meeting.h"
#include "statistics/options.h"
#include "statistics/table.h"
#include "stretto/core/task.h"

namespace statistics {

/// What is found out about all rows of the job, the same at all nodes.
struct Findings {
  Findings() {}

  std::span<const std::uint64_t> histogram(std::size_t column) const {
    const std::size_t bins = counts.size() / model.columns.size();
    return std::span(counts).subspan(column * bins, bins);
  }

  Model model;
  std::vector<std::uint64_t> counts;   ///< of the histograms' bins, column by column
  std::vector<Deviations> deviations;  ///< of the columns, and of Mahalanobis' distances
};

/// Learns and assesses: four collectives, each of which needs the result of the one before. `table` is this node's
/// share; `deviations` gets what standardise() gives for it.
stretto::Task<Findings> find_out(Meeting& meeting, const Table& table, const Options& options,
                                 std::vector<double>& deviations);

/// How far two findings about the same rows are apart, in multiples of what a unit of rounding may do to them: the
/// largest difference of standard scores, of logarithms of standard deviations, of skewness, kurtosis and correlations,
/// each divided by the ratio of the column's values to its standard deviation. Infinite where counts differ that
/// rounding can't change.
double difference(const Findings& a, const Findings& b);

/// A hash of all their bits.
std::uint64_t digest(const Findings& findings);

}  // namespace statistics
