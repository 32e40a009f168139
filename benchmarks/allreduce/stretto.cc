// Stretto's all-reduce, measured as mpi.c measures the rivals': one JSON object a line from node 0.
//
//   stretto run -n 2 build/release/bin/allreduce_bench --pin      processes
//   STRETTO_FABRIC=local:16 build/release/bin/allreduce_bench     nodes of one process
//
// All times are in seconds. A latency is the maximum over the nodes of one call, each call after a barrier; the median
// and the 99th percentile are over the iterations. back_to_back_seconds is the mean of calls without barriers.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "stretto/base/affinity.h"
#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"
#include "stretto/core/segment_array.h"

namespace {

using nlohmann::ordered_json;
using stretto::Event;
using stretto::Group;
using stretto::Node;
using stretto::Task;

constexpr double shortest_call = 1e-7;
constexpr std::size_t fewest_iterations = 8;
constexpr std::size_t warm_up_calls = 20;
constexpr int overlap_factor = 10;

struct Options {
  std::string measure = "latency";
  std::vector<std::size_t> sizes = {8, 1024, 65536, std::size_t{1} << 20U};
  double seconds = 0.3;
  std::size_t most_iterations = 20'000;
  std::size_t overlap_bytes = std::size_t{1} << 20U;
  int repetitions = 10;
  double idle_seconds = 2;
  bool pin = false;
  std::string memory = "segment";
  std::string fabric;  // what the environment chose
};

/// One node's part of the measurements. Lives in that node's main.
class Bench {
 public:
  Bench(Node& node, const Options& options, bool first_of_process)
      : node_(node), options_(options), all_(Group::all(node)), first_of_process_(first_of_process) {}

  Task<> run() {
    if (options_.measure == "latency") {
      for (const std::size_t bytes : options_.sizes) co_await latency(bytes);
    } else if (options_.measure == "overlap") {
      co_await overlap();
    } else {
      co_await idle();
    }
  }

 private:
  Event call() {
    return allreduce(node_, all_, std::span<const double>(input_), output_, stretto::sum);
  }

  void resize(std::size_t bytes) {
    const std::size_t count = bytes / sizeof(double);
    if (options_.memory == "segment") {
      segment_input_ = stretto::SegmentArray<double>(node_, count);
      segment_output_ = stretto::SegmentArray<double>(node_, count);
      input_ = segment_input_;
      output_ = segment_output_;
    } else {
      user_input_.resize(count);
      user_output_.resize(count);
      input_ = user_input_;
      output_ = user_output_;
    }
    std::fill(input_.begin(), input_.end(), 1.0);
    std::fill(output_.begin(), output_.end(), 0.0);
  }

  // A benchmark of wrong sums is worth nothing.
  void check() const {
    if (std::any_of(output_.begin(), output_.end(), [&](double value) { return value != double(node_.size()); })) {
      throw stretto::Error(stretto::ErrorCode::invalid_state, "allreduce_bench: the sum is wrong");
    }
  }

  ordered_json row(const char* operation) const {
    return {{"operation", operation},
            {"rival", "stretto"},
            {"version", STRETTO_VERSION},
            {"fabric", options_.fabric},
            {"memory", options_.memory},
            {"ranks", node_.size()}};
  }

  void print(const ordered_json& row) const {
    if (node_.id() == 0) std::cout << row.dump() << std::endl;
  }

  /// Seconds of each of `count` calls, each the maximum over the nodes. All nodes get the same.
  Task<std::vector<double>> timed_calls(std::size_t count) {
    std::vector<double> mine(count);
    for (double& seconds : mine) {
      co_await barrier(node_, all_);
      const double start = node_.now();
      co_await call();
      seconds = node_.now() - start;
    }
    std::vector<double> slowest(count);
    co_await allreduce(node_, all_, std::span<const double>(mine), std::span<double>(slowest), stretto::maximum);
    co_return slowest;
  }

  Task<double> back_to_back(std::size_t count) {
    co_await barrier(node_, all_);
    const double start = node_.now();
    for (std::size_t i = 0; i < count; ++i) co_await call();
    const double mine = (node_.now() - start) / double(count);
    co_return co_await allreduce(node_, all_, mine, stretto::maximum);
  }

  /// How many calls take about options_.seconds, from the median of a few trials: one may have been preempted.
  Task<std::size_t> iterations_that_fit() {
    std::vector<double> trials;
    trials.push_back(co_await back_to_back(3));
    if (trials.front() < 1e-3) {
      trials.clear();
      for (int i = 0; i < 5; ++i) trials.push_back(co_await back_to_back(warm_up_calls));
    }
    std::sort(trials.begin(), trials.end());
    const double estimate = std::max(trials[trials.size() / 2], shortest_call);
    co_return std::clamp(static_cast<std::size_t>(options_.seconds / estimate), fewest_iterations,
                         options_.most_iterations);
  }

  Task<> latency(std::size_t bytes) {
    resize(bytes);
    const std::size_t iterations = co_await iterations_that_fit();
    std::vector<double> seconds = co_await timed_calls(iterations);
    const double mean = co_await back_to_back(iterations);
    check();

    std::sort(seconds.begin(), seconds.end());
    ordered_json result = row("allreduce");
    result["bytes"] = input_.size() * sizeof(double);
    result["iterations"] = iterations;
    result["median_seconds"] = seconds[iterations / 2];
    result["p99_seconds"] = seconds[static_cast<std::size_t>(std::ceil(0.99 * double(iterations))) - 1];
    result["back_to_back_seconds"] = mean;
    print(result);
  }

  /// Computes until `end` without a call of Stretto, or of anything that could run its progress.
  static void compute_until(std::chrono::steady_clock::time_point end) {
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  /// Issues an all-reduce, then fills every processor for overlap_factor times as long as it takes alone.
  Task<> overlap() {
    if (node_.processors() * node_.size() > std::max(1U, std::thread::hardware_concurrency())) {
      throw stretto::Error(stretto::ErrorCode::invalid_argument,
                           "--measure overlap needs a worker for each node: use fewer nodes");
    }
    resize(options_.overlap_bytes);
    std::vector<double> alone = co_await timed_calls(fewest_iterations * 2 + 1);
    std::sort(alone.begin(), alone.end());
    const double alone_seconds = alone[alone.size() / 2];

    std::vector<double> completed;
    std::vector<double> computed;
    co_await overlapped_call(alone_seconds * overlap_factor, completed, computed);  // warms up
    completed.clear();
    computed.clear();
    int in_time = 0;
    for (int i = 0; i < options_.repetitions; ++i) {
      co_await overlapped_call(alone_seconds * overlap_factor, completed, computed);
      in_time += completed.back() < computed.back() ? 1 : 0;
    }
    check();

    std::sort(completed.begin(), completed.end());
    std::sort(computed.begin(), computed.end());
    ordered_json result = row("allreduce_overlap");
    result["bytes"] = input_.size() * sizeof(double);
    result["iterations"] = options_.repetitions;
    result["completed_before_computation_ended"] = in_time;
    result["alone_seconds"] = alone_seconds;
    result["completion_seconds"] = completed[completed.size() / 2];
    result["slowest_completion_seconds"] = completed.back();
    result["computation_seconds"] = computed[computed.size() / 2];
    print(result);
  }

  // Appends the seconds from the issue to the completion at the last node and to the end of the computation at the
  // first.
  Task<> overlapped_call(double compute_seconds, std::vector<double>& completed, std::vector<double>& computed) {
    co_await barrier(node_, all_);
    const double issued = node_.now();
    const Event done = call();
    const stretto::Future<double> time = node_.time_of(done);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                            std::chrono::duration<double>(compute_seconds));
    std::vector<Event> others;
    for (std::uint32_t i = 1; i < node_.processors(); ++i) {
      others.push_back(node_.spawn([end] { compute_until(end); }, stretto::SpawnOptions().processor(int(i))));
    }
    compute_until(end);
    const double ended = node_.now() - issued;
    for (const Event other : others) co_await other;
    const double done_after = co_await time - issued;
    completed.push_back(co_await allreduce(node_, all_, done_after, stretto::maximum));
    computed.push_back(co_await allreduce(node_, all_, ended, stretto::minimum));
  }

  static double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  /// All nodes wait for an event of node 0, which a thread triggers after a sleep.
  Task<> idle() {
    const bool owner = node_.id() == 0;
    const stretto::UserEvent wake_up = owner ? node_.create_user_event() : stretto::UserEvent();
    std::uint64_t bits = wake_up.bits();
    co_await broadcast(node_, all_, std::span<std::uint64_t>(&bits, 1));
    co_await barrier(node_, all_);

    const double cpu_before = cpu_seconds();
    const double start = node_.now();
    std::thread sleeper;
    if (owner) {
      sleeper = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::duration<double>(options_.idle_seconds));
        node_.trigger(wake_up);
      });
    }
    co_await Event::from_bits(bits);
    const double waited = node_.now() - start;
    const double mine = first_of_process_ ? cpu_seconds() - cpu_before : 0;
    if (owner) sleeper.join();

    const double total = co_await allreduce(node_, all_, mine, stretto::sum);
    ordered_json result = row("idle");
    result["seconds"] = waited;
    result["cpu_seconds"] = total;
    result["cores"] = total / waited;
    print(result);
  }

  Node& node_;
  const Options& options_;
  const Group all_;
  const bool first_of_process_;
  std::span<double> input_;
  std::span<double> output_;
  stretto::SegmentArray<double> segment_input_;
  stretto::SegmentArray<double> segment_output_;
  std::vector<double> user_input_;
  std::vector<double> user_output_;
};

int measure(Options& options) {
  const stretto::RuntimeOptions runtime_options = stretto::RuntimeOptions::from_environment();
  options.fabric = runtime_options.fabric;
  stretto::Runtime runtime(runtime_options);
  const stretto::NodeId first = runtime.nodes().front()->id();
  const bool pin = options.pin && runtime.nodes().size() == 1 && runtime.workers() == 1;
  runtime.run([&options, first, pin](Node& node) -> Task<> {
    if (pin) stretto::bind_process_to_core(node.id());
    Bench bench(node, options, node.id() == first);
    co_await bench.run();
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const CLI::Validator duration(
      [](std::string& text) {
        double seconds = 0;
        const bool good = CLI::detail::lexical_cast(text, seconds) && seconds > 0 && seconds <= 3600;
        return good ? std::string() : "must be more than 0 and at most 3600 seconds, not " + text;
      },
      "SECONDS");
  CLI::App app("Measures Stretto's all-reduce of doubles, on the fabric of the environment; JSON lines to stdout.");
  app.add_option("--measure", options.measure,
                 "What: latency, overlap (with a computation), idle (cpu of waiting nodes)")
      ->check(CLI::IsMember({"latency", "overlap", "idle"}))
      ->capture_default_str();
  app.add_option("--sizes", options.sizes, "latency: bytes of the vector, multiples of 8")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{8}, std::size_t{1} << 32U))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "latency: about how long to measure each size")
      ->check(duration)
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "overlap: how often")->check(CLI::Range(1, 10'000));
  app.add_option("--idle-seconds", options.idle_seconds, "idle: how long the nodes wait")
      ->check(duration)
      ->capture_default_str();
  app.add_option("--memory", options.memory, "Where the vectors lie: in the node's segment, or in the user's own memory")
      ->check(CLI::IsMember({"segment", "user"}))
      ->capture_default_str();
  app.add_flag("--pin", options.pin, "Keep each process on one core, if it has one worker");
  CLI11_PARSE(app, argc, argv);
  try {
    return measure(options);
  } catch (const std::exception& error) {
    std::cerr << "allreduce_bench: " << error.what() << '\n';
    return 1;
  }
}
