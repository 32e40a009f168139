#include "stretto/core/runtime.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "stretto/base/settings.h"
#include "stretto/core/cause.h"
#include "stretto/core/extension.h"
#include "stretto/core/sim_engine.h"
#include "stretto/core/thread_engine.h"
#include "stretto/fabric/local/local_fabric.h"
#include "stretto/fabric/sim/sim_fabric.h"
#include "stretto/fabric/spec.h"

namespace stretto {

namespace {

// All segments of a process together leave room for the rest of its 47 bits of address space.
constexpr std::size_t most_segment_bytes_of_process = std::size_t{16} << 40U;

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

std::vector<ExtendNode>& extension_list() {
  static std::vector<ExtendNode> list;  // filled before main
  return list;
}

Cause make_cause(ErrorCode code, std::string message) {
  return std::make_shared<const Error>(code, std::move(message));
}

}  // namespace

bool register_extension(ExtendNode extend) {
  extension_list().push_back(std::move(extend));
  return true;
}

const std::vector<ExtendNode>& extensions() { return extension_list(); }

RuntimeOptions RuntimeOptions::from_environment() {
  const Settings settings = Settings::from_environment();
  RuntimeOptions options;
  options.fabric = settings.text("STRETTO_FABRIC");
  options.workers = static_cast<unsigned>(settings.count("STRETTO_WORKERS"));
  options.segment_bytes = settings.bytes("STRETTO_SEGMENT_BYTES");
  return options;
}

// Exactly one of the two engines is there. Destroyed from the bottom up.
struct Runtime::Parts {
  std::unique_ptr<ThreadEngine> threads;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<SimEngine> simulator;
  std::vector<std::unique_ptr<Node>> nodes;
  unsigned workers = 1;

  Engine& engine() {
    if (threads != nullptr) return *threads;
    return *simulator;
  }
  fabric::SimFabric& simulated() { return static_cast<fabric::SimFabric&>(*fabric); }

  bool alive(const Node& node) { return simulator == nullptr || simulated().alive(node.id()); }
  bool idle() const {
    return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->live_tasks() == 0; });
  }
  void cancel(const Cause& cause) {
    for (const auto& node : nodes) node->events().shut_down(cause);
  }

  void start(const RuntimeOptions& options);
  void make_nodes();
  void run_in_real_time(std::span<const Event> mains);
  void run_simulated(std::span<const Event> mains);
  void drain();
  bool finished(std::span<const Event> mains);
  void run_until(bool (*done)(Parts&, std::span<const Event>), std::span<const Event> mains);
};

void Runtime::Parts::start(const RuntimeOptions& options) {
  fabric::Spec spec = fabric::parse_spec(options.fabric);
  workers = options.workers == 0 ? usable_cores() : options.workers;
  switch (spec.kind) {
    case fabric::Spec::Kind::local: {
      ThreadEngine::Options engine_options;
      engine_options.workers = workers;
      threads = std::make_unique<ThreadEngine>(engine_options);
      spec.local.segment_bytes =
          std::min(options.segment_bytes, most_segment_bytes_of_process / spec.local.nodes);
      fabric = std::make_unique<fabric::LocalFabric>(spec.local, threads.get());
      break;
    }
    case fabric::Spec::Kind::sim:
      workers = 1;
      spec.sim.segment_bytes = std::min(options.segment_bytes, most_segment_bytes_of_process / spec.sim.nodes);
      fabric = std::make_unique<fabric::SimFabric>(spec.sim);
      simulator = std::make_unique<SimEngine>(simulated());
      break;
    case fabric::Spec::Kind::cluster:
      throw Error(ErrorCode::not_supported, "STRETTO_FABRIC=cluster is not available yet; use local:N or sim:N");
  }
  make_nodes();
  if (threads != nullptr) threads->start(fabric->endpoints());
}

void Runtime::Parts::make_nodes() {
  const auto endpoints = fabric->endpoints();
  const unsigned processors =
      simulator != nullptr ? 1 : std::max(1U, workers / static_cast<unsigned>(endpoints.size()));
  for (fabric::Endpoint* const endpoint : endpoints) {
    nodes.push_back(std::make_unique<Node>(*endpoint, engine(), processors));
    for (const ExtendNode& extend : extensions()) extend(*nodes.back());
  }
}

// When one main fails the others may wait for it for ever: they are cancelled.
void Runtime::Parts::run_in_real_time(std::span<const Event> mains) {
  for (std::size_t i = 0; i < mains.size(); ++i) {
    nodes[i]->events().observe_time(
        mains[i], [] { return 0.0; },
        [this, id = nodes[i]->id()](double, const Cause& cause) {
          if (cause != nullptr) {
            cancel(make_cause(ErrorCode::cancelled, "node " + std::to_string(id) + " failed: " + cause->what()));
          }
        });
  }
  for (std::size_t i = 0; i < mains.size(); ++i) {
    try {
      nodes[i]->wait(mains[i]);
    } catch (const Error&) {
      // Reported by run().
    }
  }
}

bool Runtime::Parts::finished(std::span<const Event> mains) {
  bool all = true;
  for (std::size_t i = 0; i < mains.size(); ++i) {
    const EventState state = nodes[i]->events().query(mains[i]);
    if (state == EventState::poisoned && alive(*nodes[i])) return true;
    all = all && (state != EventState::untriggered || !alive(*nodes[i]));
  }
  return all;
}

void Runtime::Parts::run_until(bool (*done)(Parts&, std::span<const Event>), std::span<const Event> mains) {
  struct Condition {
    Parts& parts;
    bool (*done)(Parts&, std::span<const Event>);
    std::span<const Event> mains;
  } condition{*this, done, mains};
  const bool reached = simulator->run(
      [](void* argument) {
        const auto& asked = *static_cast<Condition*>(argument);
        return asked.done(asked.parts, asked.mains);
      },
      &condition);
  if (reached) return;
  std::string waiting;
  for (std::size_t i = 0; i < mains.size(); ++i) {
    if (nodes[i]->live_tasks() > 0 && alive(*nodes[i])) waiting += " " + std::to_string(nodes[i]->id());
  }
  throw Error(ErrorCode::deadlock, "nothing can happen any more, but tasks still wait on nodes" + waiting);
}

void Runtime::Parts::run_simulated(std::span<const Event> mains) {
  try {
    run_until([](Parts& parts, std::span<const Event> awaited) { return parts.finished(awaited); }, mains);
  } catch (const Error& error) {
    cancel(std::make_shared<const Error>(error));
  }
}

// Everything that still waits is told that it is over; what runs is let finish.
void Runtime::Parts::drain() {
  const Cause over = make_cause(ErrorCode::cancelled, "the job is over");
  if (simulator != nullptr) {
    simulator->exhume();
    cancel(over);
    run_until([](Parts& parts, std::span<const Event>) { return parts.idle(); }, {});
    return;
  }
  for (std::chrono::microseconds pause{10}; !idle(); pause = std::min(pause * 2, std::chrono::microseconds(1000))) {
    cancel(over);
    std::this_thread::sleep_for(pause);
  }
}

Runtime::Runtime(const RuntimeOptions& options) : parts_(std::make_unique<Parts>()) { parts_->start(options); }

Runtime::~Runtime() {
  if (parts_->threads != nullptr) parts_->threads->stop();
  for (const auto& node : parts_->nodes) node->endpoint().context().serve();
  if (parts_->fabric != nullptr) parts_->fabric->close();
}

void Runtime::run(Main main) {
  std::vector<Event> mains;
  for (const auto& node : parts_->nodes) {
    mains.push_back(node->spawn([&main](Node& here) { return main(here); }, SpawnOptions().processor(0)));
  }
  if (parts_->simulator != nullptr) {
    parts_->run_simulated(mains);
  } else {
    parts_->run_in_real_time(mains);
  }
  parts_->drain();
  Cause first;
  for (std::size_t i = 0; i < mains.size(); ++i) {
    const Cause cause = parts_->nodes[i]->cause_of(mains[i]);
    if (cause == nullptr || !parts_->alive(*parts_->nodes[i])) continue;
    if (first == nullptr || (first->code() == ErrorCode::cancelled && cause->code() != ErrorCode::cancelled)) {
      first = cause;
    }
  }
  if (first != nullptr) throw Error(*first);
}

std::span<const std::unique_ptr<Node>> Runtime::nodes() const { return parts_->nodes; }
fabric::Fabric& Runtime::fabric() { return *parts_->fabric; }
Engine& Runtime::engine() { return parts_->engine(); }
unsigned Runtime::workers() const { return parts_->workers; }

int detail::report_failure(const std::exception& error) {
  std::fprintf(stderr, "stretto: %s\n", error.what());
  return 1;
}

}  // namespace stretto
