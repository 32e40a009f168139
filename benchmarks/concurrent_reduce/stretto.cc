// The program of problem.h in Stretto, measured as mpi.c measures the rivals: one JSON object a line from node 0.
//
//   stretto run -n 4 build/release/bin/concurrent_reduce_bench          processes
//   STRETTO_FABRIC=local:4 build/release/bin/concurrent_reduce_bench    nodes of one process
//
// A latency is the maximum over the nodes of one call, each call after a barrier; the median and the 99th percentile
// are over the iterations. back_to_back_seconds is the mean of calls without barriers. On `sim` times are virtual.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "concurrent_reduce/problem.h"
#include "concurrent_reduce/stretto_variant.h"
#include "stretto/core/runtime.h"
#include "stretto/program/arguments.h"
#include "stretto/program/median.h"

namespace {

using concurrent_reduce_bench::Program;
using concurrent_reduce_bench::Variant;
using stretto::Node;
using stretto::Task;

struct Options {
  std::vector<std::size_t> sizes = {8, 4096, std::size_t{1} << 18U, std::size_t{1} << 21U};
  double seconds = 0.1;
  std::string listed = "badly";
  std::string algorithm;
};

/// Seconds of each of `count` calls, sorted, each the maximum over the nodes. All nodes get the same.
Task<std::vector<double>> timed_calls(Node& node, Program& program, Variant variant, std::size_t count) {
  const stretto::Group all = stretto::Group::all(node);
  std::vector<double> mine(count);
  for (double& seconds : mine) {
    co_await barrier(node, all);
    const double start = node.now();
    co_await program.run(variant);
    seconds = node.now() - start;
  }
  std::vector<double> slowest(count);
  co_await allreduce(node, all, mine, slowest, stretto::maximum);
  std::sort(slowest.begin(), slowest.end());
  co_return slowest;
}

Task<double> back_to_back(Node& node, Program& program, Variant variant, std::size_t count) {
  const stretto::Group all = stretto::Group::all(node);
  co_await barrier(node, all);
  const double start = node.now();
  for (std::size_t i = 0; i < count; ++i) co_await program.run(variant);
  const double mine = (node.now() - start) / double(count);
  co_return co_await allreduce(node, all, mine, stretto::maximum);
}

Task<> measure(Node& node, const Options& options, const std::string& fabric, Variant variant, std::size_t bytes) {
  Program program(node, bytes, options.listed == "well", options.algorithm);
  co_await program.check(variant);
  const std::vector<double> trials = co_await timed_calls(node, program, variant, trial_calls);
  const double estimate = std::max(trials[trial_calls / 2], shortest_call_seconds);
  const auto count = static_cast<std::size_t>(
      std::clamp(options.seconds / estimate, double(fewest_iterations), double(most_iterations)));
  const std::vector<double> seconds = co_await timed_calls(node, program, variant, count);
  const double mean = co_await back_to_back(node, program, variant, count);
  co_await program.check(variant);
  if (node.id() != 0) co_return;
  const nlohmann::ordered_json row = {{"operation", "concurrent_reduce"},
                                      {"variant", name_of(variant)},
                                      {"rival", "stretto"},
                                      {"version", STRETTO_VERSION},
                                      {"fabric", fabric},
                                      {"memory", "segment"},
                                      {"listed", options.listed},
                                      {"algorithm", options.algorithm},
                                      {"ranks", node.size()},
                                      {"bytes", bytes},
                                      {"iterations", count},
                                      {"median_seconds", seconds[count / 2]},
                                      {"p99_seconds", stretto::program::p99_of_sorted(seconds)},
                                      {"back_to_back_seconds", mean}};
  std::cout << row.dump() << std::endl;
}

int measure_all(const Options& options) {
  const stretto::RuntimeOptions runtime_options = stretto::RuntimeOptions::from_environment();
  stretto::Runtime runtime(runtime_options);
  runtime.run([&](Node& node) -> Task<> {
    if (node.size() != problem_ranks) {
      throw stretto::Error(stretto::ErrorCode::invalid_argument,
                           "the program has 4 nodes, not " + std::to_string(node.size()) +
                               "; set STRETTO_FABRIC=local:4, or start it with stretto run -n 4");
    }
    for (const std::size_t bytes : options.sizes) {
      for (const Variant variant : concurrent_reduce_bench::variants) {
        co_await measure(node, options, runtime_options.fabric, variant, bytes);
      }
    }
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  stretto::program::Arguments arguments(
      "concurrent_reduce_bench",
      "Measures the two concurrent reduces of the Aspen paper's Fig. 5 and 12; JSON lines to stdout.");
  arguments.option("--sizes", options.sizes, "Bytes of each vector, multiples of 8").comma_separated().whole_doubles();
  arguments.option("--seconds", options.seconds, "About how long to measure each variant and size")
      .measured_seconds()
      .shows_default();
  arguments
      .option("--listed", options.listed,
              "In which order r2's participants are listed: badly (2, 1), so that both have twice the work in a stage "
              "if nothing is done about it; or well (1, 2)")
      .one_of({"badly", "well"})
      .shows_default();
  arguments.option("--algorithm", options.algorithm, "Of the general reduces, by name; default: chosen");
  return arguments.run(argc, argv, [&] { return measure_all(options); });
}
