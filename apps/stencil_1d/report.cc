#include "stencil_1d/report.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace stencil_1d {
namespace {

using stretto::program::table_head;
using stretto::program::table_row;

Tally tally_of_ends(std::span<const double> begins, std::span<const double> ends, std::size_t skip) {
  std::vector<double> seconds;
  for (std::size_t i = skip; i < ends.size(); ++i) seconds.push_back(ends[i] - begins[i]);
  return Tally::of(seconds);
}

}  // namespace

Tally Record::iterations(std::size_t skip) const { return tally_of_ends(begun, std::span(begun).subspan(1), skip); }

Tally Record::collectives(std::size_t skip) const { return tally_of_ends(derived, std::span(begun).subspan(1), skip); }

std::string describe(const Outcome& outcome, const Options& options) {
  char text[512];
  std::snprintf(text, sizeof text,
                "stencil_1d: %u %s of %zu points, %zu iterations (%zu not counted), collective: %s%s\n", outcome.nodes,
                outcome.nodes == 1 ? "shard" : "shards", options.points, options.iterations, options.skip,
                outcome.method.c_str(), outcome.simulated ? "; times are virtual" : "");
  std::string report = text;
  report +=
      table_head() + table_row("one iteration", outcome.iteration) + table_row("collective alone", outcome.collective);
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
