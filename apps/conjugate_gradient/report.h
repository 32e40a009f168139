#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "conjugate_gradient/solver.h"

namespace conjugate_gradient {

/// What a finished solve has to tell.
struct Report {
  std::string problem;
  std::size_t rows = 0;
  std::size_t nonzeros = 0;
  std::size_t nodes = 0;
  Method method = Method::pipelined;
  Outcome outcome;
  double tolerance = 0;
  double seconds = 0;            ///< of the iterations, without reading and partitioning
  double reduction_seconds = 0;  ///< of those, spent waiting for reductions
};

/// What is being solved, in one line: "poisson 64 x 64 x 64: 262,144 rows, 6,859,000 entries, tolerance 1.0e-08".
std::string title(const Report& report);

/// The final table, a line per report.
std::string table(std::span<const Report> reports);

/// One object on one line, of the first report: converged, iterations, relative_residual, nodes, seconds,
/// seconds_per_iteration, reduction_share (of the seconds, 0 to 1), and method, problem, rows, nonzeros, tolerance,
/// stagnated, replacements. Further reports follow as objects in its array `compared`. REQUIRES: !reports.empty().
std::string json(std::span<const Report> reports);

/// Says now and then how a long solve is getting on: first after two seconds, then at most once a second. It reads no
/// clock; used by one thread.
class Progress {
 public:
  /// `tolerance` is where the residual, 1 at the start, is going.
  explicit Progress(double tolerance) : tolerance_(tolerance) {}

  /// A line to print, or nothing yet. The time left supposes that the residual goes on shrinking at the mean rate of
  /// its best values so far.
  std::optional<std::string> update(std::size_t iteration, double residual, double elapsed_seconds);

 private:
  double tolerance_;
  double best_ = 1;
  double next_ = 2;
};

}  // namespace conjugate_gradient
