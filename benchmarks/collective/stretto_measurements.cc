#include "collective/stretto_measurements.h"

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "stretto/program/computation.h"
#include "stretto/program/median.h"

namespace collective_bench {

using nlohmann::ordered_json;
using stretto::Error;
using stretto::ErrorCode;
using stretto::Event;
using stretto::Task;
using stretto::program::median_of;
using stretto::program::Overlapped;
using stretto::program::OverlapTally;

namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Measurements::Measurements(stretto::Node& node, const Setting& setting, bool first_of_process)
    : node_(node), setting_(setting), all_(stretto::Group::all(node)), first_of_process_(first_of_process) {}

ordered_json Measurements::row(const char* operation) const {
  return {{"operation", operation},
          {"rival", "stretto"},
          {"version", STRETTO_VERSION},
          {"fabric", setting_.fabric},
          {"memory", setting_.memory == Memory::segment ? "segment" : "user"},
          {"algorithm", setting_.algorithm},
          {"ranks", node_.size()}};
}

void Measurements::print(const ordered_json& row) const {
  if (node_.id() == 0) std::cout << row.dump() << std::endl;
}

/// Seconds of each of `count` calls, sorted, each the maximum over the nodes. All nodes get the same.
Task<std::vector<double>> Measurements::timed_calls(Call& call, std::size_t count, bool rewrites_input) {
  std::vector<double> mine(count);
  for (double& seconds : mine) {
    if (rewrites_input) call.write_input();
    co_await barrier(node_, all_);
    const double start = node_.now();
    co_await call.start();
    seconds = node_.now() - start;
  }
  std::vector<double> slowest(count);
  co_await allreduce(node_, all_, mine, slowest, stretto::maximum);
  std::sort(slowest.begin(), slowest.end());
  co_return slowest;
}

Task<double> Measurements::back_to_back(Call& call, std::size_t count) {
  co_await barrier(node_, all_);
  const double start = node_.now();
  for (std::size_t i = 0; i < count; ++i) co_await call.start();
  const double mine = (node_.now() - start) / double(count);
  co_return co_await allreduce(node_, all_, mine, stretto::maximum);
}

Task<double> Measurements::after_barriers(Call& call, std::size_t count) {
  co_await barrier(node_, all_);
  const double start = node_.now();
  for (std::size_t i = 0; i < count; ++i) {
    co_await barrier(node_, all_);
    co_await call.start();
  }
  const double mine = (node_.now() - start) / double(count);
  co_return co_await allreduce(node_, all_, mine, stretto::maximum);
}

Task<std::size_t> Measurements::iterations_that_fit(Call& call, double budget) {
  double estimate = co_await after_barriers(call, first_calls);
  // Where the fewest that are allowed take longer than the budget, nothing depends on a better estimate.
  if (estimate < short_call_seconds && estimate * double(fewest_iterations) < budget) {
    std::vector<double> trials;
    for (int i = 0; i < estimate_trials; ++i) trials.push_back(co_await after_barriers(call, estimate_calls));
    estimate = median_of(std::move(trials));
  }
  const double fitting = budget / std::max(estimate, shortest_call_seconds);
  co_return static_cast<std::size_t>(std::clamp(fitting, double(fewest_iterations), double(most_iterations)));
}

Task<> Measurements::latency(Operation operation, std::size_t bytes, double budget) {
  Call call(node_, all_, operation, bytes, setting_.memory, setting_.algorithm);
  co_await call.check();
  const std::size_t iterations = co_await iterations_that_fit(call, budget);
  const std::vector<double> seconds = co_await timed_calls(call, iterations, setting_.rewrites_input);
  double mean = 0;
  if (!setting_.rewrites_input) mean = co_await back_to_back(call, iterations);
  co_await call.check();

  ordered_json result = row(operation_names[operation]);
  result["input"] = setting_.rewrites_input ? "rewritten" : "kept";
  result["bytes"] = bytes;
  result["iterations"] = iterations;
  result["median_seconds"] = seconds[iterations / 2];
  result["p99_seconds"] = stretto::program::p99_of_sorted(seconds);
  if (!setting_.rewrites_input) result["back_to_back_seconds"] = mean;
  print(result);
}

std::vector<Event> Measurements::compute_elsewhere(std::size_t steps) {
  std::vector<Event> others;
  for (std::uint32_t i = 1; i < node_.processors(); ++i) {
    others.push_back(node_.spawn([steps] { compute(steps); }, stretto::SpawnOptions().processor(int(i))));
  }
  return others;
}

/// Seconds of the computation on all processors, at the last node.
Task<double> Measurements::computation_alone(std::size_t steps) {
  co_await barrier(node_, all_);
  const double begun = node_.now();
  const std::vector<Event> others = compute_elsewhere(steps);
  compute(steps);
  for (const Event other : others) co_await other;
  const double ended = node_.now() - begun;
  co_return co_await allreduce(node_, all_, ended, stretto::maximum);
}

Task<Overlapped> Measurements::overlapped_call(Call& call, std::size_t steps) {
  co_await barrier(node_, all_);
  const double issued = node_.now();
  const Event done = call.start();
  const stretto::Future<double> time = node_.time_of(done);
  const double begun = node_.now() - issued;
  const std::vector<Event> others = compute_elsewhere(steps);
  compute(steps);
  const double ended = node_.now() - issued;
  for (const Event other : others) co_await other;
  const double all_ended = node_.now() - issued;
  co_await done;
  const double both = node_.now() - issued;
  const double done_after = co_await time - issued;
  Overlapped result;
  result.completed = co_await allreduce(node_, all_, done_after, stretto::maximum);
  result.first_computed = co_await allreduce(node_, all_, ended, stretto::minimum);
  result.together = co_await allreduce(node_, all_, both, stretto::maximum);
  result.computing = co_await allreduce(node_, all_, all_ended - begun, stretto::maximum);
  result.waited = co_await allreduce(node_, all_, both - (all_ended - begun), stretto::maximum);
  co_return result;
}

Task<> Measurements::overlap() {
  if (node_.processors() * setting_.nodes_on_host > std::max(1U, std::thread::hardware_concurrency())) {
    throw Error(ErrorCode::invalid_argument, "--measure overlap needs a core for each worker, not " +
                                                 std::to_string(setting_.nodes_on_host) + " nodes of " +
                                                 std::to_string(node_.processors()) +
                                                 " on one host: use fewer nodes, or STRETTO_WORKERS=1");
  }
  Call call(node_, all_, OPERATION_ALLREDUCE, overlap_bytes, setting_.memory, setting_.algorithm);
  const double alone_seconds = median_of(co_await timed_calls(call, overlap_calls_alone, false));

  double timed_seconds = co_await computation_alone(timed_steps);
  for (int i = 1; i < timings; ++i) timed_seconds = std::min(timed_seconds, co_await computation_alone(timed_steps));
  for (const int factor : overlap_factors) {
    const std::size_t steps = steps_of_overlap(factor, alone_seconds, timed_seconds);
    OverlapTally tally(factor, alone_seconds);
    call.clear();
    co_await overlapped_call(call, steps);  // warms up
    for (int i = 0; i < overlap_repetitions; ++i) {
      const double computation = co_await computation_alone(steps);
      tally.add(computation, co_await overlapped_call(call, steps));
    }
    call.verify();

    ordered_json result = row("allreduce_overlap");
    result["bytes"] = int(overlap_bytes);
    tally.summary().write_to(result);
    print(result);
  }
}

/// All nodes wait for an event of node 0, which a thread triggers after a sleep.
Task<> Measurements::idle() {
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
      std::this_thread::sleep_for(std::chrono::duration<double>(idle_seconds));
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

}  // namespace collective_bench
