// The tests of problem.h in Stretto, measured as mpi.c measures the rivals: one JSON object a line from node 0.
//
//   stretto run -n 2 build/release/bin/ping_pong_bench --pin        processes
//   STRETTO_FABRIC=local:2 build/release/bin/ping_pong_bench        nodes of one process

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "ping_pong/problem.h"
#include "ping_pong/stretto_courier.h"
#include "stretto/core/runtime.h"
#include "stretto/program/arguments.h"

namespace {

using ping_pong_bench::Courier;
using ping_pong_bench::Variant;
using stretto::Node;
using stretto::Task;

struct Options {
  std::vector<std::size_t> sizes = {8, 4096, std::size_t{1} << 16U, std::size_t{1} << 22U};
  double seconds = 0.1;
  bool pin = false;
};

using Test = Task<> (Courier::*)();

struct Median {
  std::size_t count = 0;
  double seconds = 0;
};

/// Seconds of each of `count` repetitions, sorted, as this node sees them.
Task<std::vector<double>> timed(Node& node, Courier& courier, Test test, std::size_t count) {
  std::vector<double> seconds(count);
  co_await barrier(node, stretto::Group::all(node));
  for (double& each : seconds) {
    const double start = node.now();
    co_await (courier.*test)();
    each = node.now() - start;
  }
  std::sort(seconds.begin(), seconds.end());
  co_return seconds;
}

/// What node 0 measures; node 1 does as often the same.
Task<Median> median_of(Node& node, Courier& courier, Test test, double budget) {
  const std::vector<double> trials = co_await timed(node, courier, test, trial_repetitions);
  const double estimate = std::max(trials[trial_repetitions / 2], shortest_repetition_seconds);
  auto count = std::size_t(std::clamp(budget / estimate, double(fewest_repetitions), double(most_repetitions)));
  co_await broadcast(node, stretto::Group::all(node), std::span<std::size_t>(&count, 1));
  const std::vector<double> seconds = co_await timed(node, courier, test, count);
  co_return Median{count, seconds[count / 2]};
}

Task<> measure(Node& node, const Options& options, const std::string& fabric, Variant variant, std::size_t bytes) {
  Courier courier(node, variant, bytes);
  const Median trip = co_await median_of(node, courier, &Courier::round_trip, options.seconds);
  courier.check(1);
  const Median transfer = co_await median_of(node, courier, &Courier::give_window, options.seconds);
  if (node.id() == 1) {
    courier.check(courier.window());
    co_return;
  }
  const nlohmann::ordered_json row = {{"operation", "ping_pong"},
                                      {"variant", name_of(variant)},
                                      {"rival", "stretto"},
                                      {"version", STRETTO_VERSION},
                                      {"fabric", fabric},
                                      {"memory", variant == Variant::task ? "user" : "segment"},
                                      {"ranks", node.size()},
                                      {"bytes", bytes},
                                      {"iterations", trip.count},
                                      {"half_round_trip_seconds", trip.seconds / 2},
                                      {"window", courier.window()},
                                      {"windows", transfer.count},
                                      {"bytes_per_second", double(courier.window() * bytes) / transfer.seconds}};
  std::cout << row.dump() << std::endl;
}

int measure_all(const Options& options) {
  stretto::RuntimeOptions runtime_options = stretto::RuntimeOptions::from_environment();
  runtime_options.bind |= options.pin;
  stretto::Runtime runtime(runtime_options);
  runtime.run([&](Node& node) -> Task<> {
    if (node.size() != problem_ranks) {
      throw stretto::Error(stretto::ErrorCode::invalid_argument,
                           "the tests have 2 nodes, not " + std::to_string(node.size()) +
                               "; set STRETTO_FABRIC=local:2, or start them with stretto run -n 2");
    }
    for (const std::size_t bytes : options.sizes) {
      for (const Variant variant : ping_pong_bench::variants) {
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
      "ping_pong_bench", "Measures messages between two nodes, the Aspen paper's Fig. 9 and 11; JSON lines to stdout.");
  arguments.option("--sizes", options.sizes, "Bytes of each message, multiples of 8").comma_separated().whole_doubles();
  arguments.option("--seconds", options.seconds, "About how long to measure each test, variant and size")
      .measured_seconds()
      .shows_default();
  arguments.flag("--pin", options.pin, "Keep each worker on one core, its own where there are enough");
  return arguments.run(argc, argv, [&] { return measure_all(options); });
}
