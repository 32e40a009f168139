#include "statistics/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <optional>

#include "statistics/histogram.h"
#include "stretto/base/units.h"

namespace statistics {
namespace {

using nlohmann::ordered_json;
using stretto::format_duration;

// Rounding alone stays far below; a row that is lost or counted twice among a billion does not.
constexpr double most_difference = 1e-10;
constexpr std::size_t most_bins_printed = 32;

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string number(std::optional<double> value) { return value ? print("%.6g", *value) : "-"; }

std::string cell(const std::string& text) { return print("%13s", text.c_str()); }

std::string column_table(const Outcome& outcome) {
  std::string text = print("  %-16s", "column");
  for (const char* const head :
       {"values", "missing", "minimum", "mean", "maximum", "std dev", "skewness", "kurtosis", "outliers"}) {
    text += cell(head);
  }
  text += "\n";
  for (std::size_t i = 0; i < outcome.names.size(); ++i) {
    const Moments& column = outcome.findings.model.columns[i];
    const auto if_any = [&](double value) { return number(column.count > 0 ? std::optional(value) : std::nullopt); };
    text += print("  %-16.40s", outcome.names[i].c_str());
    text += cell(std::to_string(column.count)) + cell(std::to_string(outcome.rows - column.count)) +
            cell(if_any(column.minimum)) + cell(if_any(column.mean)) + cell(if_any(column.maximum)) +
            cell(number(standard_deviation(column))) + cell(number(skewness(column))) + cell(number(kurtosis(column))) +
            cell(std::to_string(outcome.findings.deviations[i].outliers)) + "\n";
  }
  return text;
}

std::string correlations(const Outcome& outcome) {
  std::string text = "  correlations of the complete rows\n";
  for (std::size_t x = 0; x < outcome.names.size(); ++x) {
    text += print("  %-16.40s", outcome.names[x].c_str());
    for (std::size_t y = 0; y <= x; ++y) text += cell(number(outcome.findings.model.covariance.correlation(x, y)));
    text += "\n";
  }
  return text;
}

std::string histograms(const Outcome& outcome, const Options& options) {
  if (options.bins > most_bins_printed) return print("  histograms of %zu bins: --json has them\n", options.bins);
  std::string text = "  histograms, from the least to the greatest value\n";
  for (std::size_t i = 0; i < outcome.names.size(); ++i) {
    text += print("  %-16.40s", outcome.names[i].c_str());
    for (const std::uint64_t count : outcome.findings.histogram(i)) text += " " + std::to_string(count);
    text += "\n";
  }
  return text;
}

std::string distances(const Outcome& outcome, const Options& options) {
  if (!outcome.findings.model.covariance.is_regular()) {
    return "  Mahalanobis' distance is not defined: too few complete rows, or a column that follows from others\n";
  }
  const Deviations& rows = outcome.findings.deviations.back();
  return print("  Mahalanobis' distance: %llu of %llu complete rows beyond %g, the largest %.6g\n",
               static_cast<unsigned long long>(rows.outliers), static_cast<unsigned long long>(rows.counted),
               options.threshold, rows.largest);
}

ordered_json optional(std::optional<double> value) { return value ? ordered_json(*value) : ordered_json(); }

ordered_json json_of(const Deviations& deviations, std::uint64_t of) {
  ordered_json object;
  object["counted"] = deviations.counted;
  object["outliers"] = deviations.outliers;
  object["largest"] = of > 0 ? ordered_json(deviations.largest) : ordered_json();
  return object;
}

ordered_json histogram_json(const Moments& column, std::span<const std::uint64_t> counts) {
  if (column.count == 0) return {};
  const Bins bins(column.minimum, column.maximum, counts.size());
  ordered_json object;
  object["low"] = bins.edge(0);
  object["high"] = bins.edge(bins.count());
  object["counts"] = counts;
  return object;
}

ordered_json column_json(const Outcome& outcome, std::size_t index) {
  const Moments& column = outcome.findings.model.columns[index];
  const auto if_any = [&](double value) { return column.count > 0 ? ordered_json(value) : ordered_json(); };
  ordered_json object;
  object["name"] = outcome.names[index];
  object["count"] = column.count;
  object["missing"] = outcome.rows - column.count;
  object["minimum"] = if_any(column.minimum);
  object["maximum"] = if_any(column.maximum);
  object["mean"] = if_any(column.mean);
  object["m2"] = column.m2;
  object["m3"] = column.m3;
  object["m4"] = column.m4;
  object["variance"] = optional(variance(column));
  object["standard_deviation"] = optional(standard_deviation(column));
  object["skewness"] = optional(skewness(column));
  object["kurtosis"] = optional(kurtosis(column));
  object["histogram"] = histogram_json(column, outcome.findings.histogram(index));
  const Deviations& deviations = outcome.findings.deviations[index];
  object["deviations"] = json_of(deviations, deviations.counted);
  return object;
}

template <class Entry>
ordered_json matrix(std::size_t size, const Entry& entry) {
  ordered_json rows = ordered_json::array();
  for (std::size_t x = 0; x < size; ++x) {
    rows.push_back(ordered_json::array());
    for (std::size_t y = 0; y < size; ++y) rows.back().push_back(optional(entry(x, y)));
  }
  return rows;
}

ordered_json json_of(const Timing& timing) {
  ordered_json object;
  object["method"] = name_of(timing.method);
  object["samples"] = timing.seconds.count;
  object["collective_seconds_min"] = timing.seconds.minimum;
  object["collective_seconds_mean"] = timing.seconds.mean();
  object["collective_seconds_max"] = timing.seconds.maximum;
  return object;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\" \t") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

}  // namespace

bool Outcome::correct() const { return nodes_agree && methods_difference <= most_difference; }

std::string describe(const Outcome& outcome, const Options& options) {
  std::string text = print("statistics: %.200s, %llu rows (%llu complete), %u %s%s\n", options.source.file.c_str(),
                           static_cast<unsigned long long>(outcome.rows),
                           static_cast<unsigned long long>(outcome.findings.model.covariance.rows()), outcome.nodes,
                           outcome.nodes == 1 ? "node" : "nodes", outcome.simulated ? "; times are virtual" : "");
  text += column_table(outcome) +
          print("  an outlier is more than %g standard deviations from the mean\n", options.threshold);
  if (outcome.names.size() > 1) text += correlations(outcome);
  text += histograms(outcome, options) + distances(outcome, options);
  for (const Timing& timing : outcome.timings) {
    text += print("  %-10s combines the moments of all nodes in %s (%s to %s; %llu samples)\n",
                  std::string(name_of(timing.method)).c_str(), format_duration(timing.seconds.mean()).c_str(),
                  format_duration(timing.seconds.minimum).c_str(), format_duration(timing.seconds.maximum).c_str(),
                  static_cast<unsigned long long>(timing.seconds.count));
  }
  if (!outcome.nodes_agree) text += "  WRONG: the nodes have got different results\n";
  if (outcome.nodes_agree && !outcome.correct()) text += "  WRONG: the methods' results differ by more than rounding\n";
  return text;
}

std::string to_json(const Outcome& outcome, const Options& options) {
  const Covariance& covariance = outcome.findings.model.covariance;
  ordered_json object;
  object["program"] = "statistics";
  object["file"] = options.source.file;
  object["nodes"] = outcome.nodes;
  object["simulated"] = outcome.simulated;
  object["rows"] = outcome.rows;
  object["complete_rows"] = covariance.rows();
  object["threshold"] = options.threshold;
  object["columns"] = ordered_json::array();
  for (std::size_t i = 0; i < outcome.names.size(); ++i) object["columns"].push_back(column_json(outcome, i));
  object["covariance"] =
      matrix(outcome.names.size(), [&](std::size_t x, std::size_t y) { return covariance.covariance(x, y); });
  object["correlation"] =
      matrix(outcome.names.size(), [&](std::size_t x, std::size_t y) { return covariance.correlation(x, y); });
  const Deviations& rows = outcome.findings.deviations.back();
  object["mahalanobis"] = covariance.is_regular() ? json_of(rows, rows.counted) : ordered_json();
  object["methods"] = ordered_json::array();
  for (const Timing& timing : outcome.timings) object["methods"].push_back(json_of(timing));
  if (outcome.timings.size() > 1) object["methods_difference"] = outcome.methods_difference;
  object["nodes_agree"] = outcome.nodes_agree;
  // A name that is no UTF-8 must not end the program.
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string deviations_csv(std::span<const std::string> names, std::span<const double> deviations) {
  std::string text;
  for (const std::string& name : names) text += csv_field(name) + ",";
  text += "mahalanobis\n";
  const std::size_t width = names.size() + 1;
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    if (!std::isnan(deviations[i])) text += print("%.17g", deviations[i]);
    text += (i + 1) % width == 0 ? '\n' : ',';
  }
  return text;
}

}  // namespace statistics
