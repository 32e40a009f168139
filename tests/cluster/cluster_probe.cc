// What the tests of whole jobs run as the nodes: cluster_probe ACTION [ARGUMENT...]. Prints one line per thing seen;
// the tests compare. Nothing here sleeps: nodes wait for events, signals and a FIFO only.

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "collective_checks.h"
#include "probe.h"
#include "stretto/base/core_set.h"
#include "stretto/base/error.h"
#include "stretto/base/hash.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/program_run.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/node.h"
#include "stretto/core/phase_barrier.h"
#include "stretto/core/runtime.h"

namespace {

using namespace stretto;
using namespace stretto::probe;

/// Of the calling thread: "0,1".
std::string usable_cores_by_name() {
  const CoreSet set = CoreSet::usable();
  std::string names;
  for (std::size_t core = 0; core < set.most(); ++core) {
    if (set.has(core)) names += (names.empty() ? "" : ",") + std::to_string(core);
  }
  return names;
}

// Remote tasks.

std::string describe(Node& node, std::string text, std::uint64_t number) {
  return std::to_string(node.id()) + ":" + std::to_string(number) + ":" + text;
}
Task<std::uint64_t> visit_all(Node& node, std::uint32_t hops) {
  if (hops == 0) co_return node.id();
  const std::uint64_t beyond = co_await node.spawn_on<visit_all>(next_of(node), SpawnOptions(), hops - 1);
  co_return beyond + node.id();
}
void refuse(Node&, std::string reason) { throw Error(ErrorCode::io, reason); }

void check_remote_tasks(Node& node) {
  for (NodeId peer = 0; peer < node.size(); ++peer) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{20'000}, std::size_t{1} << 20U}) {
      const std::string text(bytes, static_cast<char>('a' + node.id() % 26));
      const Future<std::string> answer = node.spawn_on<describe>(peer, SpawnOptions(), text, std::uint64_t{7});
      check(answer.get() == std::to_string(peer) + ":7:" + text, "the answer of a remote task");
    }
    const Event refused = node.spawn_on<refuse>(peer, SpawnOptions(), std::string("no"));
    check(code_of(refused) == ErrorCode::io, "the cause of a remote task's failure");
  }
  const std::uint64_t size = node.size();
  const std::uint64_t visited = node.spawn_on<visit_all>(next_of(node), SpawnOptions(), node.size() - 1).get();
  check(visited == size * (size - 1) / 2, "a chain of remote tasks over all nodes");
}

// Events.

void check_events(Node& node) {
  const Group all = Group::all(node);
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::array<UserEvent, 2> mine = {node.create_user_event(), node.create_user_event()};
    std::vector<UserEvent> events(mine.size() * node.size());
    allgather(node, all, mine, events).wait();
    const std::size_t next = mine.size() * next_of(node);
    node.trigger(events[next]);
    events[next + 1].poison(Error(ErrorCode::io, "on purpose"));
    for (NodeId owner = 0; owner < node.size(); ++owner) {
      events[mine.size() * owner].wait();
      check(code_of(events[mine.size() * owner + 1]) == ErrorCode::io, "the cause of a poisoned event");
    }
  }
}

// Phase barriers: node 0 counts what happened before the arrivals.

std::atomic<std::uint64_t> counted{0};
void count_one(Node&) { counted.fetch_add(1); }
std::uint64_t count_so_far(Node&) { return counted.load(); }

PhaseBarrier barrier_of_all(Node& node) {
  PhaseBarrier phase;
  if (node.id() == 0) {
    const Group all = Group::all(node);
    phase = node.barriers().create(node.size(), all.nodes());
  }
  return broadcast(node, Group::all(node), phase, 0).get();
}

void check_phase_barriers(Node& node) {
  PhaseBarrier phase = barrier_of_all(node);
  for (std::uint64_t round = 1; round <= 10; ++round, phase = phase.next()) {
    const Event done = node.spawn_on<count_one>(0, SpawnOptions());
    node.barriers().arrive(phase, 1, done);
    phase.event().wait();
    // This node has not arrived at the next phase, the others may have.
    const std::uint64_t so_far = node.spawn_on<count_so_far>(0, SpawnOptions()).get();
    check(so_far >= round * node.size() && so_far < (round + 1) * node.size(), "what a phase waited for");
  }
}

void check_everything(Node& node) {
  check_remote_tasks(node);
  check_events(node);
  check_phase_barriers(node);
  check_all_collectives(node);
  say(node, "of " + std::to_string(node.size()) + " OK");
}

// Deaths: what each node does until the victim kills itself in the middle of it.

[[noreturn]] void kill_myself() {
  std::raise(SIGKILL);
  std::abort();
}
void kill_here(Node&) { kill_myself(); }

void die_in_allreduce(Node& node, NodeId victim, std::size_t count) {
  const Words mine = words_of(node.id(), count, 0);
  Words sums(count);
  for (int round = 0;; ++round) {
    const Event done = allreduce(node, Group::all(node), mine, sums, sum);
    if (node.id() == victim && round == 3) kill_myself();
    done.wait();
  }
}
void die_in_small_allreduce(Node& node, NodeId victim) { die_in_allreduce(node, victim, 1); }
void die_in_large_allreduce(Node& node, NodeId victim) { die_in_allreduce(node, victim, word_counts.back()); }

void die_in_phase_barrier(Node& node, NodeId victim) {
  PhaseBarrier phase = barrier_of_all(node);
  for (int round = 0;; ++round, phase = phase.next()) {
    if (node.id() == victim && round == 3) kill_myself();
    node.barriers().arrive(phase);
    phase.event().wait();
  }
}

void die_owning_an_event(Node& node, NodeId victim) {
  const Event event =
      broadcast(node, Group::all(node), node.id() == victim ? node.create_user_event() : UserEvent(), victim).get();
  const Event after = node.spawn([] {}, SpawnOptions().after(event));  // makes us known to the owner
  barrier(node, Group::all(node)).wait();
  if (node.id() == victim) kill_myself();
  check(code_of(after) == ErrorCode::peer_lost, "the cause of a lost event's task");
  event.wait();
}

void die_in_remote_task(Node& node, NodeId victim) {
  barrier(node, Group::all(node)).wait();
  if (node.id() == victim) {
    node.create_user_event().wait();
  } else {
    node.spawn_on<kill_here>(victim, SpawnOptions()).wait();
  }
}

void die(Node& node, const Arguments& arguments) {
  static const std::map<std::string, std::function<void(Node&, NodeId)>> places = {
      {"small-allreduce", die_in_small_allreduce}, {"large-allreduce", die_in_large_allreduce},
      {"phase-barrier", die_in_phase_barrier},     {"event", die_owning_an_event},
      {"remote-task", die_in_remote_task},
  };
  try {
    places.at(arguments.at(1))(node, static_cast<NodeId>(std::stoul(arguments.at(0))));
  } catch (const Error& error) {
    say(node, name_of(error.code()).data());
  }
}

// Everything else that a job may meet.

void fail(Node& node, const Arguments& arguments) {
  barrier(node, Group::all(node)).wait();
  if (node.id() == std::stoul(arguments.at(0))) throw std::runtime_error("the well is dry");
  for (;;) barrier(node, Group::all(node)).wait();
}

Task<> wait_for(Node&, Event event) { co_await event; }

/// Node 0 fails while a task of its waits on another one, for what it alone would tell it.
void fail_with_call(Node& node, const Arguments&) {
  const Event phase = barrier_of_all(node).event();
  if (node.id() != 0) node.create_user_event().wait();
  node.spawn_on<wait_for>(1, SpawnOptions(), phase);
  throw std::runtime_error("the well is dry");
}

void stop(Node& node, const Arguments& arguments) {
  barrier(node, Group::all(node)).wait();
  say(node, "pid " + std::to_string(getpid()));
  if (node.id() == std::stoul(arguments.at(0))) std::raise(SIGSTOP);
  check_collectives(node, Group::all(node), 1024, 0);
  say(node, "OK");
}

/// Node 0's main returns before a task of its own, which calls node 1 when that has left.
void call_too_late(Node& node, const Arguments&) {
  barrier(node, Group::all(node)).wait();
  if (node.id() != 0) return;
  node.spawn([](Node& here) {
    for (bool left = false; !left; sched_yield()) {
      here.endpoint().context().enter([&] {
        here.endpoint().progress();
        left = here.endpoint().gone(1);
      });
    }
    here.spawn_on<describe>(1, SpawnOptions(), std::string(100'000, 'x'), std::uint64_t{1});
    say(here, "called too late");
  });
}

/// Of node 0: one that all know.
UserEvent event_of_first(Node& node) {
  return broadcast(node, Group::all(node), node.id() == 0 ? node.create_user_event() : UserEvent(), 0).get();
}
/// At node 0 a thread that triggers `poke` when somebody opens that FIFO for writing. Elsewhere none.
std::thread await_writer(Node& node, const std::string& name, UserEvent poke) {
  if (node.id() != 0) return {};
  return std::thread([&node, name, poke] {
    close(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    node.trigger(poke);
  });
}

void idle(Node& node, const Arguments& arguments) {
  const UserEvent poke = event_of_first(node);
  barrier(node, Group::all(node)).wait();
  std::thread reader = await_writer(node, arguments.at(0), poke);
  say(node, "pid " + std::to_string(getpid()));
  poke.wait();
  if (reader.joinable()) reader.join();
  say(node, "woke");
}

/// stall FIFO LATE COUNT: node 0 gathers so many words of each, to which the last LATE nodes come when the FIFO is
/// opened. Its own call begins when all others are there.
void stall(Node& node, const Arguments& arguments) {
  const UserEvent poke = event_of_first(node);
  std::thread reader = await_writer(node, arguments.at(0), poke);
  const auto in_time = static_cast<NodeId>(node.size() - std::stoul(arguments.at(1)));
  const std::size_t count = std::stoul(arguments.at(2));
  std::vector<NodeId> early(in_time);
  std::iota(early.begin(), early.end(), NodeId{0});
  const Words mine = words_of(node.id(), count, 0);
  Words gathered(node.id() == 0 ? count * node.size() : 0);
  if (node.id() == 0) barrier(node, Group(early)).wait();
  if (node.id() >= in_time) poke.wait();
  const CollectiveOptions options = CollectiveOptions().algorithm("linear_gather");
  const Event done = gather(node, Group::all(node), mine, gathered, 0, options);
  if (node.id() != 0 && node.id() < in_time) barrier(node, Group(early)).wait();
  done.wait();
  if (reader.joinable()) reader.join();
  for (NodeId peer = 0; !gathered.empty() && peer < node.size(); ++peer) {
    const Words theirs = words_of(peer, count, 0);
    check(std::equal(theirs.begin(), theirs.end(), gathered.begin() + static_cast<std::ptrdiff_t>(peer * count)),
          "what was gathered late");
  }
  say(node, "OK");
}

/// Uses every pair of nodes, then says what carried it.
int networks() {
  try {
    Runtime runtime(RuntimeOptions::from_environment());
    runtime.run([&runtime](Node& node) {
      check_everything(node);
      for (NodeId peer = 0; peer < node.size(); ++peer) {
        if (peer == node.id()) continue;
        std::string names;
        for (const std::string& name : runtime.fabric().networks_to(peer)) names += " " + name;
        say(node, "to " + std::to_string(peer) + ":" + names);
      }
    });
    return 0;
  } catch (const std::exception& error) {
    return detail::report_failure(error);
  }
}

/// Node 0 ends before it has begun, when all have met.
int begin_without_first() {
  try {
    Runtime runtime(RuntimeOptions::from_environment());
    if (runtime.nodes().front()->id() == 0) return 0;
    runtime.run([](Node& node) { barrier(node, Group::all(node)).wait(); });
    return 0;
  } catch (const std::exception& error) {
    return detail::report_failure(error);
  }
}

/// Kills its launcher once its main has returned, then leaves the job.
int leave_nobody(const Arguments& arguments) {
  {
    Runtime runtime(RuntimeOptions::from_environment());
    runtime.run([](Node&) {});
    kill(std::stoi(arguments.at(0)), SIGKILL);
  }
  std::fputs("left\n", stderr);
  return 0;
}

/// Of very different sizes and both signs, so that sums of them depend on every bracket.
std::vector<double> uneven_terms(NodeId node, std::size_t count) {
  std::vector<double> terms(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix_64((node + 1) * 1'000'003 + i);
    terms[i] = std::ldexp(static_cast<double>(bits >> 20U), static_cast<int>(bits % 64)) * (bits % 3 == 0 ? -1 : 1);
  }
  return terms;
}

/// A node's bits of such sums: the same for any way to run the job.
void sum_reproducibly(Node& node, const Arguments& arguments) {
  const bool by_option = arguments.empty();
  const CollectiveOptions options = CollectiveOptions().reproducible(by_option);
  const Group all = Group::all(node);
  const Rank root = node.size() / 2;
  std::uint64_t digest = 0;
  const auto note = [&](const Event& done, const std::vector<double>& values) {
    done.wait();
    digest = mix_64(digest ^ fnv1a_64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)}));
  };
  for (const std::size_t count : word_counts) {
    const std::vector<double> data = uneven_terms(node.id(), count);
    std::vector<double> sums(count);
    note(allreduce(node, all, data, sums, sum, options), sums);
    note(scan(node, all, data, sums, sum, options), sums);
    std::vector<double> at_root(node.id() == root ? count : 0);
    note(reduce(node, all, data, at_root, sum, root, options), at_root);
    std::vector<std::size_t> counts(node.size(), count / node.size());
    counts.back() += count % node.size();
    std::vector<double> part(counts[node.id()]);
    note(reduce_scatter(node, all, data, part, counts, sum, options), part);
  }
  say(node, "sums " + std::to_string(digest));
}

/// This node's part of a random program.
void run_program(Node& node, std::uint64_t seed) {
  const Group all = Group::all(node);
  const test::Program program = test::random_program(seed, node.size(), node.size(), 24, 20'000);
  const std::size_t count = program.instructions.size();
  std::vector<UserEvent> mine(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (program.instructions[i].trigger_node == node.id()) mine[i] = node.create_user_event();
  }
  std::vector<UserEvent> of_all(count * node.size());
  allgather(node, all, mine, of_all).wait();
  for (std::size_t i = 0; i < count; ++i) mine[i] = of_all[program.instructions[i].trigger_node * count + i];
  test::ProgramRun run(program, node, mine, test::Sabotage::none);
  const std::string complaints = node.spawn([&run] { return run.run(false); }).get();
  if (!complaints.empty()) throw std::runtime_error("seed " + std::to_string(seed) + ": " + complaints);
  barrier(node, all).wait();  // all events have triggered
}

/// programs FIRST LAST: random programs of those seeds.
void run_programs(Node& node, const Arguments& arguments) {
  for (std::uint64_t seed = std::stoull(arguments.at(0)); seed <= std::stoull(arguments.at(1)); ++seed) {
    run_program(node, seed);
  }
  say(node, "OK");
}

}  // namespace

int main(int argc, char** argv) {
  static const std::map<std::string, std::function<void(Node&, const Arguments&)>> actions = {
      {"everything", [](Node& node, const Arguments&) { check_everything(node); }},
      {"inline", [](Node& node, const Arguments&) { check_inline_collectives(node); }},
      {"disagree", [](Node& node, const Arguments&) { check_disagreements(node); }},
      {"by-hosts", [](Node& node, const Arguments&) { check_by_hosts(node); }},
      {"die", die},
      {"fail", fail},
      {"fail-with-call", fail_with_call},
      {"stop", stop},
      {"stall", stall},
      {"idle", idle},
      {"call-too-late", call_too_late},
      {"sum-reproducibly", sum_reproducibly},
      {"programs", run_programs},
      {"cores", [](Node& node, const Arguments&) { say(node, "may use " + usable_cores_by_name()); }},
  };
  const Arguments words(argv + 1, argv + argc);
  const std::string action = words.empty() ? "" : words.front();
  if (action == "networks") return networks();
  if (action == "begin-without-first") return begin_without_first();
  const Arguments arguments(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (action == "leave-nobody") return leave_nobody(arguments);
  const auto found = actions.find(action);
  if (found == actions.end()) {
    std::fprintf(stderr, "usage: cluster_probe ACTION [ARGUMENT...]; there is no action \"%s\"\n", action.c_str());
    return 2;
  }
  return run(argc, argv, [&](Node& node) { found->second(node, arguments); });
}
