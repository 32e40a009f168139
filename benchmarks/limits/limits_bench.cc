// What an all-reduce of two ranks takes by hand, see pair.h: how near a runtime's is to what this machine can do in
// this minute. One JSON object a line, measured as collective/ measures; scripts/bench prints it beside Stretto and the
// MPIs.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "limits/pair.h"
#include "stretto/base/affinity.h"
#include "stretto/program/median.h"

namespace {

using limits_bench::Pair;
using Clock = std::chrono::steady_clock;

constexpr double fewest_calls = 8;
constexpr double most_calls = 20'000;
constexpr std::size_t calls_of_trial = 20;
constexpr double shortest_call_seconds = 1e-7;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// What one rank has seen.
struct Seen {
  std::vector<double> calls;  ///< seconds of each, each after a meeting
  double back_to_back = 0;    ///< mean
};

Seen measure_rank(Pair& pair, int rank, std::size_t calls) {
  stretto::bind_thread_to_cores(std::size_t(rank), 1);
  Seen seen{std::vector<double>(calls), 0};
  for (double& seconds : seen.calls) {
    pair.meet(rank);
    const Clock::time_point start = Clock::now();
    pair.allreduce(rank);
    seconds = seconds_since(start);
  }
  pair.meet(rank);
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < calls; ++i) pair.allreduce(rank);
  seen.back_to_back = seconds_since(start) / double(calls);
  return seen;
}

/// By two threads: of each call, and of the mean, the slower rank's.
Seen measure(Pair& pair, std::size_t calls) {
  Seen seen;
  Seen other;
  std::thread rank_0([&] { seen = measure_rank(pair, 0, calls); });
  std::thread rank_1([&] { other = measure_rank(pair, 1, calls); });
  rank_0.join();
  rank_1.join();
  for (std::size_t i = 0; i < calls; ++i) seen.calls[i] = std::max(seen.calls[i], other.calls[i]);
  seen.back_to_back = std::max(seen.back_to_back, other.back_to_back);
  std::sort(seen.calls.begin(), seen.calls.end());
  return seen;
}

std::size_t calls_that_fit(Pair& pair, double seconds) {
  const Seen trial = measure(pair, calls_of_trial);
  const double fitting = seconds / std::max(trial.calls[calls_of_trial / 2], shortest_call_seconds);
  return std::size_t(std::clamp(fitting, fewest_calls, most_calls));
}

void measure_size(std::size_t bytes, double seconds) {
  Pair pair(bytes / sizeof(double));
  const std::size_t calls = calls_that_fit(pair, seconds);
  const Seen seen = measure(pair, calls);
  pair.verify();
  const nlohmann::ordered_json row = {
      {"operation", "allreduce"},
      {"rival", "by hand"},
      {"fabric", "threads"},
      {"memory", "segment"},
      {"ranks", 2},
      {"bytes", bytes},
      {"iterations", calls},
      {"median_seconds", seen.calls[calls / 2]},
      {"p99_seconds", stretto::program::p99_of_sorted(seen.calls)},
      {"back_to_back_seconds", seen.back_to_back},
  };
  std::cout << row.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes = {8, 1024, 8192, 65536, std::size_t{1} << 20U};
  double seconds = 0.1;
  CLI::App app("Measures an all-reduce of two threads that do nothing else, on two cores; JSON lines to stdout.");
  app.add_option("--sizes", sizes, "Bytes of the vector, multiples of 8")->delimiter(',')->capture_default_str();
  app.add_option("--seconds", seconds, "About how long to measure each size")
      ->check(CLI::Range(1e-6, 3600.0))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (stretto::usable_cores() < 2) throw std::runtime_error("two threads that poll need two cores, there is one");
    for (const std::size_t bytes : sizes) {
      if (bytes == 0 || bytes % sizeof(double) != 0) throw std::runtime_error("--sizes are multiples of 8 bytes");
      measure_size(bytes, seconds);
    }
    return EXIT_SUCCESS;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::cerr << "limits_bench: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
