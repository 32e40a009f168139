#include "stretto/core/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "stretto/base/affinity.h"
#include "stretto/base/hash.h"
#include "stretto/base/settings.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/cause.h"
#include "stretto/core/extension.h"
#include "stretto/core/sim_engine.h"
#include "stretto/core/stall_watch.h"
#include "stretto/core/thread_engine.h"
#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/bootstrap/launcher_choice.h"
#include "stretto/fabric/cluster/cluster_fabric.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/local/local_fabric.h"
#include "stretto/fabric/sim/sim_fabric.h"
#include "stretto/fabric/spec.h"

namespace stretto {

namespace {

// Of all segments of a process together: more than a machine has memory, and less than the thread sanitizer leaves of
// the address space.
constexpr std::size_t most_segment_bytes_of_process = std::size_t{512} << 30U;

constexpr unsigned spins_with_own_core = 20'000;
// For what comes over a network: about as long as it takes to sleep and to be woken, many times over.
constexpr unsigned yields_for_network = 1'000;
constexpr double yield_seconds_for_network = 1e-3;

std::vector<ExtendNode>& extension_list() {
  static std::vector<ExtendNode> list;  // filled before main
  return list;
}

}  // namespace

Tuning read_tuning(const std::string& path) {
  constexpr std::size_t most_bytes = 1'000'000;  // a table of costs has a few thousand
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.empty() || text.size() > most_bytes) {
    throw Error(ErrorCode::io, "STRETTO_TUNING names " + path +
                                   ", which cannot be read, is empty or is far too long for a table of costs; "
                                   "`stretto tune` writes such a file");
  }
  return {std::move(text), path};
}

namespace {

constexpr std::chrono::microseconds longest_pause{1000};

Cause make_cause(ErrorCode code, std::string message) {
  return std::make_shared<const Error>(code, std::move(message));
}

}  // namespace

bool register_extension(ExtendNode extend) {
  extension_list().push_back(std::move(extend));
  return true;
}

const std::vector<ExtendNode>& extensions() { return extension_list(); }

namespace {

RuntimeOptions untuned_of(const Settings& settings) {
  RuntimeOptions options;
  options.fabric = settings.text("STRETTO_FABRIC");
  const fabric::LauncherChoice choice = fabric::choose_launcher(fabric::process_environment());
  if (choice.launcher != fabric::Launcher::none) {
    if (settings.is_set("STRETTO_FABRIC") && options.fabric != "cluster") {
      throw Error(ErrorCode::bad_input, "a launcher started this process as rank " + std::to_string(choice.rank) +
                                            " of a job, but STRETTO_FABRIC is " + options.fabric +
                                            ", which would make each rank a job of its own; unset STRETTO_FABRIC or "
                                            "start the program without the launcher");
    }
    options.fabric = "cluster";
  }
  options.workers = static_cast<unsigned>(settings.count("STRETTO_WORKERS"));
  options.bind = settings.count("STRETTO_BIND") == 1;
  options.segment_bytes = settings.bytes("STRETTO_SEGMENT_BYTES");
  options.network = settings.text("STRETTO_NETWORK");
  fabric::cluster::network::check_network(options.network);  // also where no other host is to be reached
  options.process_reads = settings.text("STRETTO_PROCESS_READS");
  fabric::cluster::parse_process_reads(options.process_reads);  // likewise
  options.log_level = settings.log_level("STRETTO_LOG");
  options.stall_seconds = static_cast<double>(settings.count("STRETTO_STALL_SECONDS"));
  options.reproducible = settings.count("STRETTO_REPRODUCIBLE") == 1;
  options.check_calls = settings.count("STRETTO_CHECK_CALLS") == 1;
  options.staging_bytes = settings.bytes("STRETTO_STAGING_BYTES");
  return options;
}

}  // namespace

RuntimeOptions RuntimeOptions::untuned_from_environment() { return untuned_of(Settings::from_environment()); }

RuntimeOptions RuntimeOptions::from_environment() {
  const Settings settings = Settings::from_environment();
  RuntimeOptions options = untuned_of(settings);
  if (settings.is_set("STRETTO_TUNING")) options.tuning = read_tuning(settings.text("STRETTO_TUNING"));
  return options;
}

// Exactly one of the two engines is there. Destroyed from the bottom up.
struct Runtime::Parts {
  // Threads may run though `start` has failed.
  ~Parts() {
    if (threads != nullptr) threads->stop();
  }

  Main main;  // while its tasks may run, which is to the end where they could not be ended
  std::unique_ptr<ThreadEngine> threads;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<SimEngine> simulator;
  Surroundings surroundings;
  std::vector<std::unique_ptr<Node>> nodes;
  std::unique_ptr<StallWatch> stall_watch;
  double stall_seconds = 0;
  LogLevel log_level = LogLevel::warning;
  unsigned workers = 1;
  std::string binding;  // of the workers, for people
  bool used = false;
  bool job_failed = false;
  // Of all processors, see Node::changes_at_rest.
  std::optional<std::uint64_t> changes_at_last_look;
  std::optional<std::uint64_t> changes_at_last_rest;
  // Of the mains: how many are to be waited for, which are over, and what the first failure is to others.
  std::mutex mains_mutex;
  std::condition_variable mains_changed;
  std::size_t mains_left = 0;
  std::vector<bool> main_is_over;
  Cause main_failure;

  Engine& engine() {
    if (threads != nullptr) return *threads;
    return *simulator;
  }
  fabric::SimFabric& simulated() const { return static_cast<fabric::SimFabric&>(*fabric); }

  bool alive(const Node& node) const { return simulator == nullptr || simulated().alive(node.id()); }
  bool idle() const {
    return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->live_tasks() == 0; });
  }
  bool mains_are_over() const { return main_failure != nullptr || mains_left == 0; }
  // Or nothing happens any more: those that are left wait for each other, or for another process.
  bool tasks_have_settled() { return idle() || (simulator == nullptr && has_come_to_rest()); }
  bool has_come_to_rest();
  bool operations_are_over() const {
    return std::all_of(nodes.begin(), nodes.end(),
                       [this](const auto& node) { return !alive(*node) || node->operations_are_over(); });
  }

  void start(const RuntimeOptions& options);
  unsigned nodes_of_this_host();
  unsigned place_on_this_host();
  unsigned nodes_of_this_host_before(NodeId end);
  ThreadEngine::Options engine_options(unsigned cores, bool bind);
  void look_around(const RuntimeOptions& options);
  std::vector<std::uint32_t> numbered_hosts();
  void make_nodes();
  bool meet_at_the_end();
  Cause failure_of(std::span<const Event> mains);
  Cause spawn_mains(std::vector<Event>& mains);
  Cause run_mains(std::span<const Event> mains);
  void end_of_main(std::size_t index, const Cause& failure);
  Cause cancellation(std::size_t index, const Cause& failure) const;
  void cancel(const Cause& cause);
  void bury(Node& node);
  bool bury_the_dead();
  void drain(const Cause& cause);
  void save_durations(bool failed);
  bool poison_rest();
  bool wait_until(bool (*done)(Parts&), const std::function<void()>& when_long = {});
  void tell_of_late_operations(const Cause& cause) const;
  Error deadlock() const;
  std::string who_waits() const;
};

void Runtime::Parts::start(const RuntimeOptions& options) {
  fabric::Spec spec = fabric::parse_spec(options.fabric);
  const unsigned cores = usable_cores();
  workers = options.workers == 0 ? cores : options.workers;
  switch (spec.kind) {
    case fabric::Spec::Kind::local:
      threads = std::make_unique<ThreadEngine>();
      spec.local.segment_bytes = std::min(options.segment_bytes, most_segment_bytes_of_process / spec.local.nodes);
      fabric = std::make_unique<fabric::LocalFabric>(spec.local, threads.get());
      break;
    case fabric::Spec::Kind::sim:
      workers = 1;
      spec.sim.segment_bytes = std::min(options.segment_bytes, most_segment_bytes_of_process / spec.sim.nodes);
      fabric = std::make_unique<fabric::SimFabric>(spec.sim);
      simulator = std::make_unique<SimEngine>(simulated());
      break;
    case fabric::Spec::Kind::cluster: {
      threads = std::make_unique<ThreadEngine>();
      fabric::ClusterOptions cluster;
      cluster.segment_bytes = options.segment_bytes;
      cluster.network = options.network;
      cluster.process_reads = fabric::cluster::parse_process_reads(options.process_reads);
      cluster.tuning_digest = fnv1a_64(options.tuning.text);
      fabric = fabric::make_cluster_fabric(fabric::connect(fabric::process_environment()), cluster, threads.get());
      // The nodes of a host share its cores, unless the launcher gave each its own.
      if (options.workers == 0) workers = std::max(1U, cores / nodes_of_this_host());
      break;
    }
  }
  look_around(options);
  make_nodes();
  if (threads == nullptr) return;
  const ThreadEngine::Options engine = engine_options(cores, options.bind);
  if (engine.first_core) binding = engine.idling.takes_turns ? ", each bound to a core" : ", each on a core of its own";
  threads->start(engine, fabric->endpoints());
  stall_seconds = options.stall_seconds;
  log_level = options.log_level;
  if (stall_seconds <= 0) return;
  stall_watch = std::make_unique<StallWatch>(
      nodes, options.stall_seconds, [level = options.log_level](NodeId node, const std::string& sentence) {
        Logger(level, "node " + std::to_string(node)).warning("for some time now, ", sentence);
      });
}

ThreadEngine::Options Runtime::Parts::engine_options(unsigned cores, bool bind) {
  ThreadEngine::Options engine;
  engine.workers = workers;
  const unsigned nodes_here = nodes_of_this_host();
  const auto cores_of_host = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const auto nodes_of_a_process = static_cast<unsigned>(fabric->endpoints().size());
  const unsigned workers_here = nodes_here / nodes_of_a_process * workers;
  const auto a_core = [](unsigned count, unsigned among) { return (count + among - 1) / among; };
  engine.workers_per_core = std::max(a_core(workers, cores), a_core(workers_here, cores_of_host));
  engine.idling.takes_turns = engine.workers_per_core > 1;
  // A launcher may have bound each process to cores of its own.
  const bool shares_cores = workers_here <= cores || cores == cores_of_host;
  if (bind) engine.first_core = shares_cores ? place_on_this_host() / nodes_of_a_process * workers : 0;
  if (engine.idling.takes_turns) return engine;
  if (nodes_here == fabric->size()) {
    // Spinning pays only where nobody else wants the core.
    engine.idling.spins = spins_with_own_core;
  } else {
    // The kernel's network wants the core, too, and may get it at the next tick only where a thread spins: messages
    // then take milliseconds. A yield lets it work at once.
    engine.idling.yields = yields_for_network;
    engine.idling.yield_seconds = yield_seconds_for_network;
  }
  return engine;
}

unsigned Runtime::Parts::nodes_of_this_host() { return nodes_of_this_host_before(fabric->size()); }

// Of this process's first node, among those of the host.
unsigned Runtime::Parts::place_on_this_host() { return nodes_of_this_host_before(fabric->endpoints().front()->self()); }

unsigned Runtime::Parts::nodes_of_this_host_before(NodeId end) {
  const std::string here = fabric->host_of(fabric->endpoints().front()->self());
  unsigned count = 0;
  for (NodeId node = 0; node < end; ++node) count += fabric->host_of(node) == here ? 1U : 0U;
  return count;
}

void Runtime::Parts::look_around(const RuntimeOptions& options) {
  surroundings.tuning = options.tuning;
  surroundings.reproducible = options.reproducible;
  surroundings.check_calls = options.check_calls;
  surroundings.log_level = options.log_level;
  surroundings.staging_bytes = options.staging_bytes;
  surroundings.one_process = fabric->endpoints().size() == fabric->size();
  surroundings.hosts = numbered_hosts();
  if (simulator != nullptr) {
    surroundings.simulated = &simulated().options();
  } else if (surroundings.one_process) {
    surroundings.occupancy = {fabric->size(), workers};
  } else {
    surroundings.occupancy = fabric->occupancy();
  }
}

// The same at all nodes: hosts are numbered in the order of their first nodes.
std::vector<std::uint32_t> Runtime::Parts::numbered_hosts() {
  std::vector<std::uint32_t> hosts;
  if (simulator != nullptr) {
    const fabric::SimOptions& machine = simulated().options();
    for (NodeId node = 0; machine.hosts != 0 && node < fabric->size(); ++node) hosts.push_back(machine.host_of(node));
  } else if (fabric->endpoints().size() < fabric->size()) {
    std::map<std::string, std::uint32_t> numbers;
    for (NodeId node = 0; node < fabric->size(); ++node) {
      const auto next = static_cast<std::uint32_t>(numbers.size());
      hosts.push_back(numbers.try_emplace(fabric->host_of(node), next).first->second);
    }
    if (numbers.size() == 1) hosts.clear();
  }
  return hosts;
}

void Runtime::Parts::make_nodes() {
  const auto endpoints = fabric->endpoints();
  const unsigned processors =
      simulator != nullptr ? 1 : std::max(1U, workers / static_cast<unsigned>(endpoints.size()));
  for (fabric::Endpoint* const endpoint : endpoints) {
    nodes.push_back(std::make_unique<Node>(*endpoint, engine(), processors, surroundings));
    for (const ExtendNode& extend : extensions()) extend(*nodes.back());
  }
  if (nodes.front()->id() != 0) return;
  std::vector<NodeId> everybody(fabric->size());
  std::iota(everybody.begin(), everybody.end(), NodeId{0});
  nodes.front()->barriers().create(fabric->size(), everybody);
}

// Processes leave together: until then others may need what this one owns. Node 0 makes its first phase barrier at
// creation, so all know it. The second phase keeps node 0 until everybody has heard of the end of the first.
// False when somebody died: then there is nobody to wait for.
bool Runtime::Parts::meet_at_the_end() {
  const PhaseBarrier all_done({0, Event::first_barrier_slot, 1});
  Node& here = *nodes.front();
  here.barriers().arrive(all_done);
  try {
    here.wait(all_done.event());
    here.barriers().arrive(all_done.next());
    if (here.id() == 0) here.wait(all_done.next().event());
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Of a node that dies on sim: nobody waits for it any more.
void Runtime::Parts::end_of_main(std::size_t index, const Cause& failure) {
  const std::lock_guard lock(mains_mutex);
  if (main_is_over[index]) return;
  main_is_over[index] = true;
  --mains_left;
  if (failure != nullptr && main_failure == nullptr) main_failure = cancellation(index, failure);
  mains_changed.notify_one();
}

// What that node's failure is to others.
Cause Runtime::Parts::cancellation(std::size_t index, const Cause& failure) const {
  return make_cause(ErrorCode::cancelled, "node " + std::to_string(nodes[index]->id()) + " failed: " + failure->what());
}

// The nodes, and what they wait for where that is known.
std::string Runtime::Parts::who_waits() const {
  std::string waiting;
  std::vector<std::string> sentences;
  for (const auto& node : nodes) {
    if (node->live_tasks() == 0) continue;
    waiting += " " + std::to_string(node->id());
    if (sentences.size() < most_told) {
      for (std::string& sentence : stalled_at(*node, Operations::Which::now)) sentences.push_back(std::move(sentence));
    }
  }
  for (const std::string& sentence : sentences) waiting += "; " + sentence;
  return waiting;
}

// On sim, runs what there is until `done` holds; elsewhere others do, and `when_long` is called once where that takes
// longer than a stall. False when nothing can happen any more.
bool Runtime::Parts::wait_until(bool (*done)(Parts&), const std::function<void()>& when_long) {
  if (simulator == nullptr) {
    const double began = threads->now();
    bool is_told = !when_long || stall_seconds <= 0;
    for (std::chrono::microseconds pause{10}; !done(*this); pause = std::min(pause * 2, longest_pause)) {
      std::this_thread::sleep_for(pause);
      if (is_told || threads->now() - began < stall_seconds) continue;
      is_told = true;
      when_long();
    }
    return true;
  }
  struct Condition {
    Parts& parts;
    bool (*done)(Parts&);
  } condition{*this, done};
  return simulator->run(
      [](void* argument) {
        const auto& asked = *static_cast<const Condition*>(argument);
        return asked.done(asked.parts);
      },
      &condition);
}

Error Runtime::Parts::deadlock() const {
  return Error(ErrorCode::deadlock, "nothing can happen any more, but tasks still wait on nodes" + who_waits());
}

// Returns why not all could be spawned; null if they were.
Cause Runtime::Parts::spawn_mains(std::vector<Event>& mains) {
  try {
    for (const auto& node : nodes) {
      mains.push_back(
          node->spawn([this](Node& here) { return main(here); }, SpawnOptions().processor(0).in_any_case()));
    }
  } catch (...) {
    return cause_of_current_exception("the main of node " + std::to_string(nodes[mains.size()]->id()));
  }
  return nullptr;
}

// Returns when all mains are over, or it is known why the others are to be cancelled.
Cause Runtime::Parts::run_mains(std::span<const Event> mains) {
  mains_left = mains.size();
  main_is_over.assign(mains.size(), false);
  if (simulator != nullptr) {
    simulated().on_kill([this](NodeId node) { end_of_main(node, nullptr); });
  }
  for (std::size_t i = 0; i < mains.size(); ++i) {
    nodes[i]->events().observe_time(
        mains[i], [] { return 0.0; }, [this, i](double, const Cause& cause) { end_of_main(i, cause); });
  }
  if (simulator == nullptr) {
    std::unique_lock lock(mains_mutex);
    mains_changed.wait(lock, [this] { return mains_are_over(); });
    return main_failure;
  }
  if (!wait_until([](Parts& parts) { return parts.mains_are_over(); })) {
    return std::make_shared<const Error>(deadlock());
  }
  return simulator->failure() != nullptr ? simulator->failure() : main_failure;
}

void Runtime::Parts::tell_of_late_operations(const Cause& cause) const {
  Logger(log_level, "job")
      .warning("the job is over (", cause->message(),
               "), but some of its collectives are not: an operator of theirs waits for something, or "
               "peers may still touch their memory");
}

// What waits is told that it is over; what runs is let finish. Operations come first: who is told unwinds, and takes
// with it the memory that they use.
void Runtime::Parts::cancel(const Cause& cause) {
  for (const auto& node : nodes) node->cancel_operations(cause);
  // Or nobody does anything any more.
  wait_until([](Parts& parts) { return parts.operations_are_over(); }, [&] { tell_of_late_operations(cause); });
  if (job_failed) {
    for (const auto& node : nodes) node->refuse_tasks(cause);
  }
  for (const auto& node : nodes) node->events().shut_down(cause);
  if (!job_failed) return;
  for (const auto& node : nodes) node->cancel_remote_tasks(cause);  // their tasks may wait for us for ever
}

// Whether nothing has happened in this process since the last look, but something since it was last at rest: then only
// another process, or a thread of the program's own, could go on with anything. When all operations are over.
bool Runtime::Parts::has_come_to_rest() {
  std::uint64_t sum = 0;
  for (const auto& node : nodes) {
    const std::optional<std::uint64_t> changes = node->changes_at_rest();
    if (!changes) return false;
    sum += *changes;
  }
  if (std::exchange(changes_at_last_look, sum) != sum) return false;
  return std::exchange(changes_at_last_rest, sum) != sum;
}

// Of tasks that wait for each other none ends before it is told. Returns whether anything was waited for.
bool Runtime::Parts::poison_rest() {
  bool any = false;
  for (const auto& node : nodes) any |= node->events().poison_rest();
  return any;
}

// What a dead node still waits for will not come: it has lost everybody, itself included.
void Runtime::Parts::bury(Node& node) {
  const Error dead(ErrorCode::peer_lost, "node " + std::to_string(node.id()) + " was killed");
  node.endpoint().context().enter([&] {
    for (NodeId peer = 0; peer < node.size(); ++peer) node.endpoint().lose(peer, dead);
  });
}

// Returns whether any has died since.
bool Runtime::Parts::bury_the_dead() {
  bool any = false;
  for (const auto& node : nodes) {
    if (alive(*node) || node->endpoint().lost(node->id())) continue;
    bury(*node);
    any = true;
  }
  return any;
}

void Runtime::Parts::drain(const Cause& cause) {
  bury_the_dead();
  if (simulator != nullptr) simulator->exhume();
  cancel(cause);  // also where no task is left: merges and the like wait without one
  for (;;) {
    const bool may_go_on = wait_until([](Parts& parts) { return parts.tasks_have_settled(); });
    if (idle()) return;
    if (!bury_the_dead() && !poison_rest() && !may_go_on) throw deadlock();
  }
}

// Also those of a job that failed, which is worth a replay; its own failure is then what is reported.
void Runtime::Parts::save_durations(bool failed) {
  if (simulator == nullptr) return;
  try {
    simulator->save_durations();
  } catch (const Error&) {
    if (!failed) throw;
  }
}

Runtime::Runtime(const RuntimeOptions& options) : parts_(std::make_unique<Parts>()) { parts_->start(options); }

Runtime::~Runtime() {
  if (parts_->threads != nullptr) parts_->threads->stop();
  for (const auto& node : parts_->nodes) node->endpoint().context().serve();
  // A fabric that is not closed is a death to its peers. So it must be to those who have yet to hear that the job
  // failed, or was never begun here: they may wait for what only this process could tell them.
  const bool never_ran = !parts_->used && parts_->fabric->size() > parts_->nodes.size();
  if (parts_->job_failed || never_ran) return;
  try {
    parts_->fabric->close();
  } catch (const Error& error) {  // as when the launcher is gone: the job is over, and leaving it is all that failed
    detail::report_failure(error);
  }
}

void Runtime::run(Main main) {
  if (std::exchange(parts_->used, true)) {
    throw Error(ErrorCode::invalid_state, "a Runtime runs once; make another one for another job");
  }
  parts_->main = std::move(main);
  std::vector<Event> mains;
  const Cause unspawned = parts_->spawn_mains(mains);
  const Cause cause = unspawned != nullptr ? parts_->cancellation(mains.size(), unspawned) : parts_->run_mains(mains);
  parts_->job_failed = cause != nullptr;
  if (!parts_->job_failed && parts_->fabric->size() > parts_->nodes.size()) {
    parts_->job_failed = !parts_->meet_at_the_end();
  }
  parts_->drain(cause != nullptr ? cause : make_cause(ErrorCode::cancelled, "the job is over"));
  parts_->main = nullptr;
  const Cause failure = unspawned != nullptr ? unspawned : parts_->failure_of(mains);
  parts_->save_durations(failure != nullptr);
  if (failure != nullptr) throw Error(*failure);
}

// Why the job failed: the first main that failed, but rather one that was not merely cancelled for another's sake.
Cause Runtime::Parts::failure_of(std::span<const Event> mains) {
  if (simulator != nullptr && simulator->failure() != nullptr) return simulator->failure();
  Cause first;
  for (std::size_t i = 0; i < mains.size(); ++i) {
    const Cause cause = nodes[i]->cause_of(mains[i]);
    if (cause == nullptr || !alive(*nodes[i])) continue;
    if (first == nullptr || (first->code() == ErrorCode::cancelled && cause->code() != ErrorCode::cancelled)) {
      first = cause;
    }
  }
  return first;
}

std::span<const std::unique_ptr<Node>> Runtime::nodes() const { return parts_->nodes; }
fabric::Fabric& Runtime::fabric() { return *parts_->fabric; }
Engine& Runtime::engine() { return parts_->engine(); }
unsigned Runtime::workers() const { return parts_->workers; }

std::string Runtime::describe() const {
  const std::uint32_t all = parts_->fabric->size();
  const std::size_t here = parts_->nodes.size();
  std::string text =
      std::to_string(all) + (all == 1 ? " node on " : " nodes on ") + std::string(parts_->fabric->name());
  if (here == all) {
    text += all == 1 ? ", in this process" : ", all in this process";
  } else {
    text +=
        ", " + std::to_string(here) + " in this process, host " + parts_->fabric->host_of(parts_->nodes.front()->id());
  }
  if (parts_->simulator != nullptr) return text + "; times are virtual";
  return text + "; " + std::to_string(parts_->workers) + (parts_->workers == 1 ? " worker thread" : " worker threads") +
         parts_->binding;
}

int detail::report_failure(const std::exception& error) {
  std::fprintf(stderr, "stretto: %s\n", error.what());
  return 1;
}

}  // namespace stretto
