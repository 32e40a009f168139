// Solves a sparse symmetric positive definite system on all nodes of the job.

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conjugate_gradient/distributed_driver.h"
#include "conjugate_gradient/matrix_market.h"
#include "conjugate_gradient/options.h"
#include "conjugate_gradient/problem.h"
#include "conjugate_gradient/report.h"
#include "conjugate_gradient/svg_plot.h"
#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"
#include "stretto/program/output_file.h"

namespace {

using namespace conjugate_gradient;
using stretto::Error;
using stretto::ErrorCode;
using stretto::Node;
using stretto::Runtime;
using stretto::Task;
using stretto::program::NamedFile;
using stretto::program::write_file;

/// What there is to solve, and how: shared by the nodes of this process.
struct Job {
  Options options;
  Problem problem;
  std::vector<double> rhs;
};

/// What node 0 collects, one of each for each method.
struct Results {
  std::vector<Report> reports;
  std::vector<Series> curves;
  std::vector<double> solution;  ///< of the first method
};

Problem load(const Options& options) {
  if (const auto* const grid = std::get_if<PoissonGrid>(&options.matrix)) return Problem(*grid);
  const auto& path = std::get<std::string>(options.matrix);
  return Problem(read_matrix(path), path);
}

std::optional<std::string> why_not_writable(const Options& options) {
  const auto* const matrix = std::get_if<std::string>(&options.matrix);
  const std::array<NamedFile, 2> read{{{"the matrix", matrix == nullptr ? "" : *matrix}, {"--rhs", options.rhs}}};
  const std::array<NamedFile, 3> written{
      {{"--solution", options.solution}, {"--history", options.history}, {"--plot", options.plot}}};
  return stretto::program::why_not_writable(written, read);
}

void write_history(const std::string& path, const std::vector<double>& history) {
  std::string text;
  for (const double residual : history) {
    char line[32];
    std::snprintf(line, sizeof line, "%.17g\n", residual);
    text += line;
  }
  write_file(path, text);
}

Report blank_report(const Job& job, std::size_t nodes, Method method) {
  Report report;
  report.problem = job.problem.name();
  report.rows = job.problem.rows();
  report.nonzeros = job.problem.nonzeros();
  report.nodes = nodes;
  report.method = method;
  report.tolerance = job.options.solver.tolerance;
  return report;
}

std::vector<Method> methods_of(const Options& options) {
  const Method first = options.solver.method;
  if (!options.compare) return {first};
  return {first, first == Method::classic ? Method::pipelined : Method::classic};
}

void announce(const Runtime& runtime, const Job& job) {
  const std::size_t nodes = runtime.nodes().front()->size();
  std::printf("%s\n%s\n", title(blank_report(job, nodes, job.options.solver.method)).c_str(),
              runtime.describe().c_str());
  if (job.problem.duplicates() > 0) std::printf("%zu duplicate entries were added up\n", job.problem.duplicates());
  std::fflush(stdout);
}

void finish(const Job& job, const Results& results) {
  const Options& options = job.options;
  const std::string& name = job.problem.name();
  if (!options.solution.empty()) write_vector(options.solution, results.solution, "solution of " + name);
  if (!options.history.empty()) write_history(options.history, results.curves.front().values);
  if (!options.plot.empty()) {
    write_file(options.plot, convergence_svg(results.curves, {"Convergence of " + name}, options.solver.tolerance));
  }
  std::printf("%s", table(results.reports).c_str());
  if (options.json) std::printf("%s\n", json(results.reports).c_str());
  std::fflush(stdout);
}

DriverOptions driver_options(const Options& options, Progress& progress) {
  DriverOptions driver;
  driver.gather_solution = !options.solution.empty();
  driver.progress = [&progress](std::size_t iteration, double residual, double seconds) {
    if (const auto line = progress.update(iteration, residual, seconds)) std::fprintf(stderr, "%s\n", line->c_str());
  };
  return driver;
}

/// Whether to begin: refuses before the work what would fail after it. Node 0 finds out, and says for all what is
/// wrong; they leave together, so that none takes another's leaving for a death.
Task<bool> may_begin(Node& node, const Runtime& runtime, const Job& job) {
  bool writable = true;
  if (node.id() == 0) {
    const auto reason = why_not_writable(job.options);
    writable = !reason.has_value();
    if (reason) std::fprintf(stderr, "conjugate_gradient: %s\n", reason->c_str());
    if (writable) announce(runtime, job);
  }
  const stretto::Group all = stretto::Group::all(node);
  co_return co_await broadcast(node, all, writable);
}

/// Main of each node; `status` is set by the nodes that are told to.
Task<> solve_on(Node& node, const Runtime& runtime, const Job& job, int* status) {
  if (!co_await may_begin(node, runtime, job)) co_return;
  Results results;
  bool all_converged = true;
  for (const Method method : methods_of(job.options)) {
    SolverOptions solver = job.options.solver;
    solver.method = method;
    Progress progress(solver.tolerance);
    const DriverOptions driver = driver_options(job.options, progress);
    NodeResult result = co_await solve_distributed(node, job.problem, job.rhs, solver, driver);
    all_converged = all_converged && result.outcome.converged;
    if (node.id() != 0) continue;
    Report report = blank_report(job, node.size(), method);
    report.outcome = result.outcome;
    report.seconds = result.seconds;
    report.reduction_seconds = result.reduction_seconds;
    results.reports.push_back(std::move(report));
    results.curves.push_back({std::string(name_of(method)), std::move(result.history)});
    if (results.solution.empty()) results.solution = std::move(result.solution);
  }
  if (status != nullptr) *status = all_converged ? 0 : stretto::program::exit_wrong;
  if (node.id() == 0) finish(job, results);
}

int solve(const Options& options) {
  Problem problem = load(options);
  const std::size_t rows = problem.rows();
  const Job job{options, std::move(problem),
                options.rhs.empty() ? std::vector<double>(rows, 1.0) : read_vector(options.rhs, rows)};
  Runtime runtime(stretto::RuntimeOptions::from_environment());
  const Node* const first = runtime.nodes().front().get();
  int status = stretto::program::exit_failed;  // unless it comes to a result
  try {
    runtime.run([&](Node& node) { return solve_on(node, runtime, job, &node == first ? &status : nullptr); });
  } catch (const Error& error) {
    // All nodes find out together what is wrong with the system: one of them says so.
    if (error.code() != ErrorCode::bad_input || first->id() == 0) throw;
    return stretto::program::exit_failed;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto parse = [&] { return parse_options(argc, argv); };
  if (const auto status = stretto::program::read_options("conjugate_gradient", parse, options)) return *status;
  return stretto::program::guarded("conjugate_gradient", [&] { return solve(options); });
}
