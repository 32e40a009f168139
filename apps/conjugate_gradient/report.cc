#include "conjugate_gradient/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace conjugate_gradient {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// 6859000 as "6,859,000".
std::string grouped(std::size_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

double per_iteration(const Report& report) {
  return report.seconds / static_cast<double>(std::max<std::size_t>(report.outcome.iterations, 1));
}

double reduction_share(const Report& report) {
  return report.seconds > 0 ? std::clamp(report.reduction_seconds / report.seconds, 0.0, 1.0) : 0;
}

std::string verdict(const Report& report) {
  if (report.outcome.converged) return "converged";
  return report.outcome.stagnated ? "NOT CONVERGED: stagnated" : "NOT CONVERGED";
}

std::vector<std::string> cells(const Report& report) {
  return {std::string(name_of(report.method)),
          std::to_string(report.nodes),
          grouped(report.outcome.iterations),
          format("%.3e", report.outcome.relative_residual),
          std::to_string(report.outcome.replacements),
          format("%.4f", report.seconds),
          format("%.2f", per_iteration(report) * 1e6),
          format("%.1f %%", reduction_share(report) * 100),
          verdict(report)};
}

std::string duration(double seconds) {
  if (seconds < 100) return format("%.0f s", seconds);
  if (seconds < 6000) return format("%.0f min", seconds / 60);
  return format("%.1f h", seconds / 3600);
}

nlohmann::ordered_json object_of(const Report& report) {
  return {{"converged", report.outcome.converged},
          {"iterations", report.outcome.iterations},
          {"relative_residual", report.outcome.relative_residual},
          {"nodes", report.nodes},
          {"seconds", report.seconds},
          {"seconds_per_iteration", per_iteration(report)},
          {"reduction_share", reduction_share(report)},
          {"method", name_of(report.method)},
          {"problem", report.problem},
          {"rows", report.rows},
          {"nonzeros", report.nonzeros},
          {"tolerance", report.tolerance},
          {"stagnated", report.outcome.stagnated},
          {"replacements", report.outcome.replacements}};
}

}  // namespace

std::string title(const Report& report) {
  return report.problem + ": " + grouped(report.rows) + " rows, " + grouped(report.nonzeros) + " entries, tolerance " +
         format("%.1e", report.tolerance);
}

std::string table(std::span<const Report> reports) {
  if (reports.empty()) return {};
  std::vector<std::vector<std::string>> lines{{"method", "nodes", "iterations", "true residual", "replacements",
                                               "seconds", "us/iteration", "in reductions", "result"}};
  for (const Report& report : reports) lines.push_back(cells(report));
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - line[i].size(), ' ');
      const bool is_text = i == 0 || i + 1 == line.size();
      if (i > 0) text += "  ";
      text += is_text ? line[i] + (i == 0 ? padding : "") : padding + line[i];
    }
    text += '\n';
  }
  return text;
}

std::string json(std::span<const Report> reports) {
  nlohmann::ordered_json object = object_of(reports.front());
  for (const Report& other : reports.subspan(1)) object["compared"].push_back(object_of(other));
  // A file's name need not be UTF-8, and that is no reason to print no result.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<std::string> Progress::update(std::size_t iteration, double residual, double elapsed_seconds) {
  if (residual > 0) best_ = std::min(best_, residual);
  if (elapsed_seconds < next_) return std::nullopt;
  next_ = elapsed_seconds + 1;
  std::string line = "iteration " + grouped(iteration) + "   relative residual " + format("%.2e", residual) + "   " +
                     duration(elapsed_seconds) + " so far";
  const double done = std::log(best_) / std::log(tolerance_);
  if (done > 0.01 && done < 1) line += ", about " + duration(elapsed_seconds * (1 - done) / done) + " left";
  return line;
}

}  // namespace conjugate_gradient
