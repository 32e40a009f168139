#include "fft3d/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "stretto/base/units.h"

namespace fft3d {
namespace {

using stretto::program::table_head;
using stretto::program::table_row;

// Rounding grows with the logarithm of the number of points: 2^31 of them stay below 1e-14.
constexpr double most_error = 1e-12;

bool is_right(const Run& run) {
  return run.round_trip_error <= most_error && run.serial_error.value_or(0) <= most_error;
}

std::string errors(const Run& run) {
  char line[160];
  std::snprintf(line, sizeof line, "  overlap %s: forward and back right within %.2g",
                std::string(name_of(run.overlap)).c_str(), run.round_trip_error);
  std::string text = line;
  if (run.serial_error) {
    std::snprintf(line, sizeof line, ", forward that of a serial transform within %.2g", *run.serial_error);
    text += line;
  }
  return text + (is_right(run) ? "\n" : "  WRONG\n");
}

}  // namespace

bool Outcome::correct() const { return std::all_of(runs.begin(), runs.end(), is_right); }

std::string describe(const Outcome& outcome, const Options& options) {
  char text[256];
  std::snprintf(text, sizeof text, "%s: %zu x %zu x %zu points, %u %s, blocks of at most %s%s\n",
                outcome.program.c_str(), options.n[0], options.n[1], options.n[2], outcome.nodes,
                outcome.nodes == 1 ? "node" : "nodes", stretto::format_bytes(outcome.block_bytes).c_str(),
                outcome.simulated ? "; times are virtual" : "");
  std::string report = text + table_head();
  for (const Run& run : outcome.runs) {
    report += table_row("overlap " + std::string(name_of(run.overlap)), run.seconds);
  }
  for (const Run& run : outcome.runs) report += errors(run);
  return report;
}

std::string to_json(const Outcome& outcome, const Options& options) {
  nlohmann::ordered_json object;
  object["program"] = outcome.program;
  object["nodes"] = outcome.nodes;
  object["simulated"] = outcome.simulated;
  object["n"] = options.n;
  object["planes_per_message"] = options.planes_per_message;
  object["block_bytes"] = outcome.block_bytes;
  object["runs"] = nlohmann::ordered_json::array();
  for (const Run& run : outcome.runs) {
    nlohmann::ordered_json entry;
    entry["overlap"] = name_of(run.overlap);
    entry["samples"] = run.seconds.count;
    entry["forward_seconds_min"] = run.seconds.minimum;
    entry["forward_seconds_mean"] = run.seconds.mean();
    entry["forward_seconds_max"] = run.seconds.maximum;
    entry["round_trip_error"] = run.round_trip_error;
    if (run.serial_error) entry["serial_error"] = *run.serial_error;
    object["runs"].push_back(entry);
  }
  object["correct"] = outcome.correct();
  if (outcome.simulated) object["point_cost_seconds"] = options.point_seconds;
  return object.dump();
}

}  // namespace fft3d
