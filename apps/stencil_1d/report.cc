#include "stencil_1d/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "stretto/base/units.h"

namespace stencil_1d {
namespace {

using stretto::format_duration;

Tally tally_of_ends(std::span<const double> begins, std::span<const double> ends, std::size_t skip) {
  std::vector<double> seconds;
  for (std::size_t i = skip; i < ends.size(); ++i) seconds.push_back(ends[i] - begins[i]);
  return Tally::of(seconds);
}

std::string row(const char* name, const std::string& minimum, const std::string& mean, const std::string& maximum) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-18s%14s%14s%14s\n", name, minimum.c_str(), mean.c_str(), maximum.c_str());
  return line;
}

std::string row(const char* name, const Tally& tally) {
  return row(name, format_duration(tally.minimum), format_duration(tally.mean()), format_duration(tally.maximum));
}

}  // namespace

Tally Tally::of(std::span<const double> seconds) {
  Tally tally;
  tally.count = seconds.size();
  if (seconds.empty()) return tally;
  tally.minimum = *std::min_element(seconds.begin(), seconds.end());
  tally.maximum = *std::max_element(seconds.begin(), seconds.end());
  for (const double each : seconds) tally.sum += each;
  return tally;
}

Tally Combine::operator()(const Tally& a, const Tally& b) const noexcept {
  return {std::min(a.minimum, b.minimum), std::max(a.maximum, b.maximum), a.sum + b.sum, a.count + b.count};
}

Tally Record::iterations(std::size_t skip) const { return tally_of_ends(begun, std::span(begun).subspan(1), skip); }

Tally Record::collectives(std::size_t skip) const { return tally_of_ends(derived, std::span(begun).subspan(1), skip); }

std::string describe(const Outcome& outcome, const Options& options) {
  char text[512];
  std::snprintf(text, sizeof text,
                "stencil_1d: %u %s of %zu points, %zu iterations (%zu not counted), collective: %s%s\n", outcome.nodes,
                outcome.nodes == 1 ? "shard" : "shards", options.points, options.iterations, options.skip,
                outcome.method.c_str(), outcome.simulated ? "; times are virtual" : "");
  std::string report = text;
  report += row("", "minimum", "mean", "maximum") + row("one iteration", outcome.iteration) +
            row("collective alone", outcome.collective);
  std::snprintf(text, sizeof text, "  sum %.12f, derivative right within %.2g\n", outcome.result, outcome.error);
  report += text;
  if (!outcome.nodes_agree) report += "  WRONG: the shards have got different sums\n";
  if (outcome.agrees_with_serial) {
    report += *outcome.agrees_with_serial ? "  all sums are those of a serial run, bit for bit\n"
                                          : "  WRONG: the sums are not those of a serial run\n";
  }
  return report;
}

std::string to_json(const Outcome& outcome, const Options& options) {
  nlohmann::ordered_json object;
  object["program"] = "stencil_1d";
  object["method"] = outcome.method;
  object["nodes"] = outcome.nodes;
  object["simulated"] = outcome.simulated;
  object["points"] = options.points;
  object["iterations"] = options.iterations;
  object["skipped"] = options.skip;
  object["samples"] = outcome.iteration.count;
  object["iteration_seconds_min"] = outcome.iteration.minimum;
  object["iteration_seconds_mean"] = outcome.iteration.mean();
  object["iteration_seconds_max"] = outcome.iteration.maximum;
  object["collective_seconds_min"] = outcome.collective.minimum;
  object["collective_seconds_mean"] = outcome.collective.mean();
  object["collective_seconds_max"] = outcome.collective.maximum;
  object["result"] = outcome.result;
  object["derivative_error"] = outcome.error;
  object["nodes_agree"] = outcome.nodes_agree;
  if (outcome.agrees_with_serial) object["agrees_with_serial"] = *outcome.agrees_with_serial;
  if (outcome.simulated) object["point_cost_seconds"] = options.point_seconds;
  return object.dump();
}

}  // namespace stencil_1d
