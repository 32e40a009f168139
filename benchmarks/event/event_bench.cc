// What events and tasks cost, as in figures 4 and 5a of the Realm paper: one JSON object a line on standard output.
//
//   build/release/bin/event_bench                               nodes of one process
//   stretto run -n 2 build/release/bin/event_bench --processes  between two processes
//
// Each figure is the median of several repetitions, on one worker (but for `idle`). The main task is that worker, so
// what is measured between nodes of one process is the protocol, not a wake-up.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/core/runtime.h"
#include "stretto/program/arguments.h"
#include "stretto/program/median.h"

namespace {

using stretto::Event;
using stretto::Node;
using stretto::Runtime;
using stretto::RuntimeOptions;
using stretto::SpawnOptions;
using stretto::Task;
using stretto::UserEvent;

constexpr int repetitions = 9;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print(const std::string& name, const std::string& parameters, const std::string& unit, double value) {
  std::printf("{\"benchmark\": \"%s\", %s\"unit\": \"%s\", \"median\": %.4g, \"repetitions\": %d}\n", name.c_str(),
              parameters.c_str(), unit.c_str(), value, repetitions);
  std::fflush(stdout);
}

RuntimeOptions options_for(const std::string& fabric) {
  RuntimeOptions options;
  options.fabric = fabric;
  options.workers = 1;
  options.bind = true;
  return options;
}

// Runs `measure` (which returns one figure) in node 0's main, several times; prints the median.
void in_main(const std::string& fabric, const std::string& name, const std::string& parameters, const std::string& unit,
             const std::function<Task<double>(Runtime&, Node&)>& measure) {
  Runtime runtime(options_for(fabric));
  double result = 0;
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    std::vector<double> values;
    co_await measure(runtime, node);  // warms up
    for (int i = 0; i < repetitions; ++i) values.push_back(co_await measure(runtime, node));
    result = stretto::program::median_of(std::move(values));
  });
  if (runtime.nodes().front()->id() != 0) return;
  const std::uint32_t nodes = runtime.nodes().front()->size();
  print(name, "\"nodes\": " + std::to_string(nodes) + ", " + parameters, unit, result);
}

// Each event triggers the next; with two nodes they belong to them in turn. Nanoseconds a hop.
Task<double> chain(Runtime& runtime, Node& node) {
  const std::size_t hops = runtime.nodes().size() == 1 ? 100'000 : 10'000;
  std::vector<UserEvent> events;
  for (std::size_t i = 0; i <= hops; ++i)
    events.push_back(runtime.nodes()[i % runtime.nodes().size()]->create_user_event());
  for (std::size_t i = 0; i < hops; ++i) runtime.nodes()[i % runtime.nodes().size()]->trigger(events[i + 1], events[i]);
  const double start = seconds_now();
  node.trigger(events[0]);
  co_await events[hops];
  co_return (seconds_now() - start) / static_cast<double>(hops) * 1e9;
}

// This node's half of a chain: an event that triggers after each of `theirs`.
std::vector<std::uint64_t> answers_to(Node& node, std::vector<std::uint64_t> theirs) {
  std::vector<std::uint64_t> mine;
  for (const std::uint64_t bits : theirs) {
    const UserEvent event = node.create_user_event();
    node.trigger(event, Event::from_bits(bits));
    mine.push_back(event.bits());
  }
  return mine;
}

void nothing(Node&) {}

// The same between processes: all subscriptions are made before the first event triggers. Nanoseconds a hop.
Task<double> chain_between_processes(Runtime&, Node& node) {
  constexpr std::size_t rounds = 2000;
  std::vector<UserEvent> questions;
  std::vector<std::uint64_t> names;
  for (std::size_t i = 0; i <= rounds; ++i) questions.push_back(node.create_user_event());
  for (std::size_t i = 0; i < rounds; ++i) names.push_back(questions[i].bits());
  const std::vector<std::uint64_t> answers = co_await node.spawn_on<answers_to>(1, SpawnOptions(), names);
  for (std::size_t i = 0; i < rounds; ++i) node.trigger(questions[i + 1], Event::from_bits(answers[i]));
  co_await node.spawn_on<nothing>(1, SpawnOptions());
  const double start = seconds_now();
  node.trigger(questions[0]);
  co_await questions[rounds];
  co_return (seconds_now() - start) / static_cast<double>(2 * rounds) * 1e9;
}

// A layered graph as in figure 5a: each event of a layer is a merge of `fan` events of the layer before, so that each
// has as many subscribers as inputs. Merge inputs a second, counted over the triggering.
Task<double> fan(Node& node, std::size_t width) {
  const std::size_t layers = 200'000 / (width * width) + 2;
  const UserEvent start = node.create_user_event();
  const UserEvent never_first = node.create_user_event();  // keeps the merges of the first layer apart from `start`
  std::vector<Event> layer;
  for (std::size_t i = 0; i < width; ++i) layer.push_back(node.merge({start, never_first}));
  for (std::size_t depth = 0; depth < layers; ++depth) {
    std::vector<Event> next;
    for (std::size_t i = 0; i < width; ++i) next.push_back(node.merge(layer));
    layer = std::move(next);
  }
  const Event last = node.merge(layer);
  never_first.trigger();
  const double begin = seconds_now();
  start.trigger();
  const double end = seconds_now();
  co_await last;
  co_return static_cast<double>(layers * width * width) / (end - begin);
}

// Nanoseconds for each waiter of one event.
Task<double> waiters(Node& node, std::size_t count) {
  const UserEvent event = node.create_user_event();
  std::vector<UserEvent> followers(count);
  const double start = seconds_now();
  for (UserEvent& follower : followers) {
    follower = node.create_user_event();
    node.trigger(follower, event);
  }
  node.trigger(event);
  const double end = seconds_now();
  co_await followers.back();
  co_return (end - start) / static_cast<double>(count) * 1e9;
}

// Nanoseconds for each empty task, issued in batches and run.
Task<double> batched_tasks(Node& node) {
  constexpr int batches = 200;
  constexpr int batch = 500;
  const double start = seconds_now();
  for (int i = 0; i < batches; ++i) {
    Event last;
    for (int j = 0; j < batch; ++j) last = node.spawn([] {});
    co_await last;
  }
  co_return (seconds_now() - start) / (batches * batch) * 1e9;
}

// Nanoseconds for each empty task, each after the one before.
Task<double> chained_tasks(Node& node) {
  constexpr int count = 100'000;
  const double start = seconds_now();
  const UserEvent first = node.create_user_event();
  Event last = first;
  for (int i = 0; i < count; ++i) last = node.spawn([] {}, SpawnOptions().after(last));
  node.trigger(first);
  co_await last;
  co_return (seconds_now() - start) / count * 1e9;
}

// Nanoseconds for a coroutine to await what its processor's next task triggers.
Task<double> coroutine_round_trips(Node& node) {
  constexpr int count = 50'000;
  const double start = seconds_now();
  for (int i = 0; i < count; ++i) co_await node.spawn([] {});
  co_return (seconds_now() - start) / count * 1e9;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The share of a core that a job burns while all its nodes wait.
void idle_job() {
  RuntimeOptions options = options_for("local:16");
  options.workers = 0;
  Runtime runtime(options);
  const UserEvent over = runtime.nodes()[0]->create_user_event();
  double share = 0;
  std::thread observer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const double cpu = cpu_seconds();
    const double start = seconds_now();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    share = (cpu_seconds() - cpu) / (seconds_now() - start);
    runtime.nodes()[0]->trigger(over);
  });
  runtime.run([&](Node&) -> Task<> { co_await over; });
  observer.join();
  std::printf("{\"benchmark\": \"idle\", \"nodes\": 16, \"unit\": \"cores\", \"median\": %.4g, \"repetitions\": 1}\n",
              share);
}

void measure_nodes_of_one_process() {
  in_main("local:1", "chain", "", "ns_per_hop", chain);
  in_main("local:2", "chain", "", "ns_per_hop", chain);
  for (const std::size_t width : {4U, 16U, 64U}) {
    in_main("local:1", "fan", "\"fan\": " + std::to_string(width) + ", ", "merge_inputs_per_second",
            [width](Runtime&, Node& node) { return fan(node, width); });
  }
  for (const std::size_t count : {1U, 10U, 100U, 1000U, 10000U}) {
    in_main("local:1", "waiters", "\"waiters\": " + std::to_string(count) + ", ", "ns_per_waiter",
            [count](Runtime&, Node& node) { return waiters(node, count); });
  }
  in_main("local:1", "tasks_batched", "", "ns_per_task", [](Runtime&, Node& node) { return batched_tasks(node); });
  in_main("local:1", "tasks_chained", "", "ns_per_task", [](Runtime&, Node& node) { return chained_tasks(node); });
  in_main("local:1", "coroutine_round_trip", "", "ns_per_round_trip",
          [](Runtime&, Node& node) { return coroutine_round_trips(node); });
  idle_job();
}

int measure(bool processes) {
  if (processes) {
    in_main("cluster", "chain_between_processes", "", "ns_per_hop", chain_between_processes);
  } else {
    measure_nodes_of_one_process();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool processes = false;
  stretto::program::Arguments arguments("event_bench", "Measures what events and tasks cost; JSON lines to stdout.");
  arguments.flag("--processes", processes, "Only a chain between two processes; under stretto run -n 2");
  return arguments.run(argc, argv, [&] { return measure(processes); });
}
