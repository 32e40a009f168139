// What an all-reduce of two ranks takes by hand, see pair.h: how near a runtime's is to what this machine can do in
// this minute. Or (--measure overlap) what it takes before a computation that touches no memory: calls back to back
// find their data in the caches of who reads them, calls after a computation what others have left there. One JSON
// object a line, measured as collective/ measures; scripts/bench prints it beside Stretto and the MPIs.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "limits/pair.h"
#include "stretto/base/affinity.h"
#include "stretto/program/arguments.h"
#include "stretto/program/computation.h"
#include "stretto/program/median.h"
#include "stretto/program/overlap.h"

namespace {

using limits_bench::Pair;
using nlohmann::ordered_json;
using stretto::program::Overlapped;
using stretto::program::OverlapSummary;
using Clock = std::chrono::steady_clock;

constexpr double fewest_calls = 8;
constexpr double most_calls = 20'000;
constexpr std::size_t calls_of_trial = 20;
constexpr double shortest_call_seconds = 1e-7;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// What all calls have taken.
struct Seen {
  std::vector<double> calls;  ///< seconds of each, each after a meeting; sorted
  double back_to_back = 0;    ///< mean
};

/// One of the two threads, on a core of its own. Seconds are those of the slower rank; both get the same.
class Rank {
 public:
  Rank(Pair& pair, int rank) : pair_(pair), rank_(rank) { stretto::bind_thread_to_cores(std::size_t(rank), 1); }

  Seen measure_calls(std::size_t count) {
    Seen seen{std::vector<double>(count), 0};
    for (double& seconds : seen.calls) {
      pair_.meet(rank_);
      const Clock::time_point start = Clock::now();
      pair_.allreduce(rank_);
      seconds = seconds_since(start);
    }
    pair_.meet(rank_);
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) pair_.allreduce(rank_);
    seen.back_to_back = greatest(seconds_since(start) / double(count));
    for (double& seconds : seen.calls) seconds = greatest(seconds);
    std::sort(seen.calls.begin(), seen.calls.end());
    return seen;
  }

  OverlapSummary measure_overlap(int factor) {
    const double alone_seconds = measure_calls(overlap_calls_alone).calls[overlap_calls_alone / 2];
    return stretto::program::measure_overlap(
        factor, alone_seconds, [this](std::size_t steps) { return computation_alone(steps); },
        [this](std::size_t steps) { return overlapped_call(steps); });
  }

 private:
  double greatest(double mine) { return pair_.greatest(rank_, mine); }

  double computation_alone(std::size_t steps) {
    pair_.meet(rank_);
    const Clock::time_point start = Clock::now();
    compute(steps);
    return greatest(seconds_since(start));
  }

  /// The call blocks: what it takes is exposed.
  Overlapped overlapped_call(std::size_t steps) {
    pair_.meet(rank_);
    const Clock::time_point start = Clock::now();
    pair_.allreduce(rank_);
    const double completed = seconds_since(start);
    compute(steps);
    const double computed = seconds_since(start);
    return {greatest(completed), -greatest(-computed), greatest(computed), greatest(computed - completed),
            greatest(completed)};
  }

  Pair& pair_;
  const int rank_;
};

/// Returns what rank 0 has come to.
template <class Measure>
auto on_both(Pair& pair, Measure measure) {
  decltype(measure(std::declval<Rank&>())) result;
  std::thread other([&] {
    Rank rank(pair, 1);
    measure(rank);
  });
  std::thread([&] {
    Rank rank(pair, 0);
    result = measure(rank);
  }).join();
  other.join();
  return result;
}

ordered_json row(const char* operation, std::size_t bytes) {
  return {{"operation", operation}, {"rival", "by hand"}, {"fabric", "threads"},
          {"memory", "segment"},    {"ranks", 2},         {"bytes", bytes}};
}

Seen measure_calls(Pair& pair, std::size_t count) {
  return on_both(pair, [&](Rank& rank) { return rank.measure_calls(count); });
}

std::size_t calls_that_fit(Pair& pair, double seconds) {
  const Seen trial = measure_calls(pair, calls_of_trial);
  const double fitting = seconds / std::max(trial.calls[calls_of_trial / 2], shortest_call_seconds);
  return std::size_t(std::clamp(fitting, fewest_calls, most_calls));
}

void measure_size(std::size_t bytes, double seconds) {
  Pair pair(bytes / sizeof(double));
  const std::size_t calls = calls_that_fit(pair, seconds);
  const Seen seen = measure_calls(pair, calls);
  pair.verify();
  ordered_json result = row("allreduce", bytes);
  result["iterations"] = calls;
  result["median_seconds"] = seen.calls[calls / 2];
  result["p99_seconds"] = stretto::program::p99_of_sorted(seen.calls);
  result["back_to_back_seconds"] = seen.back_to_back;
  std::cout << result.dump() << std::endl;
}

void measure_overlap() {
  Pair pair(overlap_bytes / sizeof(double));
  for (const int factor : overlap_factors) {
    const OverlapSummary summary = on_both(pair, [&](Rank& rank) { return rank.measure_overlap(factor); });
    pair.verify();
    ordered_json result = row("allreduce_overlap", overlap_bytes);
    summary.write_to(result);
    std::cout << result.dump() << std::endl;
  }
}

struct Options {
  std::vector<std::size_t> sizes = {8, 1024, 8192, 65536, std::size_t{1} << 20U};
  std::string measure = "latency";
  double seconds = 0.1;
};

int measure(const Options& options) {
  if (stretto::usable_cores() < 2) throw std::runtime_error("two threads that poll need two cores, there is one");
  if (options.measure == "overlap") {
    measure_overlap();
  } else {
    for (const std::size_t bytes : options.sizes) measure_size(bytes, options.seconds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  stretto::program::Arguments arguments(
      "limits_bench",
      "Measures an all-reduce of two threads that do nothing else, on two cores; JSON lines to stdout.");
  arguments.option("--measure", options.measure, "What: latency, overlap (with a computation, of 1 MiB)")
      .one_of({"latency", "overlap"})
      .shows_default();
  arguments.option("--sizes", options.sizes, "Bytes of the vector, multiples of 8")
      .comma_separated()
      .whole_doubles()
      .shows_default();
  arguments.option("--seconds", options.seconds, "About how long to measure each size")
      .measured_seconds()
      .shows_default();
  return arguments.run(argc, argv, [&] { return measure(options); });
}
