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
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/hash.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/program_run.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/node.h"
#include "stretto/core/phase_barrier.h"
#include "stretto/core/runtime.h"
#include "stretto/core/segment_array.h"

namespace {

using namespace stretto;
using Words = std::vector<std::uint64_t>;
using Arguments = std::vector<std::string>;

constexpr std::array<std::size_t, 6> word_counts = {1, 8, 128, 1024, 8192, 131'072};  // 8 B to 1 MiB

/// Of the calling thread: "0,1".
std::string usable_cores_by_name() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::string names;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) names += (names.empty() ? "" : ",") + std::to_string(core);
  }
  return names;
}

// One write, so that lines of different processes never mix.
void say(std::string line) {
  line += '\n';
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}
void say(const Node& node, const std::string& text) { say("node " + std::to_string(node.id()) + " " + text); }

void check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("wrong: " + what);
}

NodeId next_of(const Node& node) { return (node.id() + 1) % node.size(); }
NodeId last_of(const Node& node) { return node.size() - 1; }

/// What node `node` contributes, in a round of its own.
Words words_of(NodeId node, std::size_t count, std::uint64_t round) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = (node + 1) * 1'000'003 + round * 101 + i;
  return words;
}

Words sum_of_words(std::uint64_t nodes, std::size_t count, std::uint64_t round) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = nodes * (nodes + 1) / 2 * 1'000'003 + nodes * (round * 101 + i);
  }
  return words;
}

ErrorCode code_of(Event event) {
  try {
    event.wait();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::runtime_error("wrong: an event that was poisoned triggered clean");
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

// Collectives.

struct Affine {  // x -> a x + b, which do not commute
  std::uint64_t a, b;
  friend bool operator==(const Affine&, const Affine&) = default;
};
struct Compose {
  Affine operator()(const Affine& f, const Affine& g) const { return {f.a * g.a, f.a * g.b + f.b}; }
};

// One collective of a group, of `count` words of each rank in that round, done as `options` say.
struct Trial {
  Node& node;
  const Group& group;
  std::size_t count;
  std::uint64_t round;
  CollectiveOptions options;

  Rank rank() const { return group.rank_of(node.id()); }
  Rank root() const { return static_cast<Rank>(round % group.size()); }
  Words mine() const { return words_of(rank(), count, round); }
  Words sums() const { return sum_of_words(group.size(), count, round); }
  Words blocks_of_all() const {
    Words all;
    for (Rank from = 0; from < group.size(); ++from) {
      const Words theirs = words_of(from, count, round);
      all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
  }
  std::string named(const char* operation) const {
    return std::string(operation) + " of " + std::to_string(count) + " words " + std::string(options.algorithm());
  }
};

void check_broadcast(const Trial& trial) {
  Words data = trial.rank() == trial.root() ? trial.mine() : Words(trial.count);
  broadcast(trial.node, trial.group, data, trial.root(), trial.options).wait();
  check(data == words_of(trial.root(), trial.count, trial.round), trial.named("a broadcast"));
}

void check_reduce(const Trial& trial) {
  const Words mine = trial.mine();
  const bool is_root = trial.rank() == trial.root();
  Words at_root(is_root ? trial.count : 0);
  reduce(trial.node, trial.group, mine, at_root, sum, trial.root(), trial.options).wait();
  check(!is_root || at_root == trial.sums(), trial.named("a reduce"));
}

void check_allreduce(const Trial& trial) {
  const Words mine = trial.mine();
  Words everywhere(trial.count);
  allreduce(trial.node, trial.group, mine, everywhere, sum, trial.options).wait();
  check(everywhere == trial.sums(), trial.named("an all-reduce"));
}

void check_allgather(const Trial& trial) {
  const Words mine = trial.mine();
  Words gathered(trial.count * trial.group.size());
  allgather(trial.node, trial.group, mine, gathered, trial.options).wait();
  check(gathered == trial.blocks_of_all(), trial.named("an all-gather"));
}

void check_gather(const Trial& trial) {
  const Words mine = trial.mine();
  const bool is_root = trial.rank() == trial.root();
  Words gathered(is_root ? trial.count * trial.group.size() : 0);
  gather(trial.node, trial.group, mine, gathered, trial.root(), trial.options).wait();
  check(!is_root || gathered == trial.blocks_of_all(), trial.named("a gather"));
}

void check_scatter(const Trial& trial) {
  const Words all = trial.rank() == trial.root() ? trial.blocks_of_all() : Words();
  Words got(trial.count);
  scatter(trial.node, trial.group, all, got, trial.root(), trial.options).wait();
  check(got == trial.mine(), trial.named("a scatter"));
}

void check_reduce_scatter(const Trial& trial) {
  const std::size_t all = trial.count * trial.group.size();
  const Words terms = words_of(trial.rank(), all, trial.round);
  const Words sums = sum_of_words(trial.group.size(), all, trial.round);
  Words got(trial.count);
  reduce_scatter(trial.node, trial.group, terms, got, sum, trial.options).wait();
  check(std::equal(got.begin(), got.end(), sums.begin() + static_cast<std::ptrdiff_t>(trial.rank() * trial.count)),
        trial.named("a reduce-scatter"));
}

void check_all_to_all(const Trial& trial) {
  Words given;
  Words expected;
  for (Rank rank = 0; rank < trial.group.size(); ++rank) {
    const Words theirs = words_of(trial.rank() * trial.group.size() + rank, trial.count, trial.round);
    given.insert(given.end(), theirs.begin(), theirs.end());
    const Words mine = words_of(rank * trial.group.size() + trial.rank(), trial.count, trial.round);
    expected.insert(expected.end(), mine.begin(), mine.end());
  }
  Words got(given.size());
  all_to_all(trial.node, trial.group, given, got, trial.options).wait();
  check(got == expected, trial.named("an all-to-all"));
}

void check_scan(const Trial& trial) {
  const Words mine = trial.mine();
  Words got(trial.count);
  scan(trial.node, trial.group, mine, got, sum, trial.options).wait();
  check(got == sum_of_words(trial.rank() + 1, trial.count, trial.round), trial.named("a scan"));
}

void check_exscan(const Trial& trial) {
  const Words mine = trial.mine();
  Words got(trial.count);
  exscan(trial.node, trial.group, mine, got, sum, trial.options).wait();
  check(trial.rank() == 0 || got == sum_of_words(trial.rank(), trial.count, trial.round), trial.named("an exscan"));
}

void check_barrier(const Trial& trial) { barrier(trial.node, trial.group, trial.options).wait(); }

void check_collectives(Node& node, const Group& group, std::size_t count, std::uint64_t round) {
  const Trial trial{node, group, count, round, CollectiveOptions()};
  for (const auto& checked : {check_broadcast, check_reduce, check_allreduce, check_allgather, check_barrier}) {
    checked(trial);
  }
}

// By each of the algorithms that go by hosts: these are there where several nodes share one of several hosts.
void check_by_hosts(Node& node, const Arguments&) {
  static const std::map<schedule::Operation, void (*)(const Trial&)> checks = {
      {schedule::Operation::broadcast, check_broadcast},
      {schedule::Operation::reduce, check_reduce},
      {schedule::Operation::allreduce, check_allreduce},
      {schedule::Operation::allgather, check_allgather},
      {schedule::Operation::gather, check_gather},
      {schedule::Operation::scatter, check_scatter},
      {schedule::Operation::reduce_scatter, check_reduce_scatter},
      {schedule::Operation::all_to_all, check_all_to_all},
      {schedule::Operation::scan, check_scan},
      {schedule::Operation::exscan, check_exscan},
      {schedule::Operation::barrier, check_barrier}};
  const Group all = Group::all(node);
  std::size_t tried = 0;
  for (const schedule::Algorithm* const algorithm : schedule::algorithms()) {
    if (!algorithm->needs_hosts()) continue;
    ++tried;
    for (const std::size_t count : {1U, 100U, 30'000U}) {
      for (std::uint64_t round = 0; round < node.size(); ++round) {
        checks.at(algorithm->operation())({node, all, count, round, CollectiveOptions().algorithm(algorithm->name())});
      }
    }
  }
  check(tried > 10, "that there are such algorithms");
  say(node, "of " + std::to_string(node.size()) + " OK");
}

void check_order_of_operands(Node& node) {
  const auto affine = [](std::uint64_t n) { return Affine{2 * n + 3, n + 5}; };
  Affine expected = affine(0);
  for (NodeId peer = 1; peer < node.size(); ++peer) expected = Compose()(expected, affine(peer));
  check(allreduce(node, Group::all(node), affine(node.id()), Compose()).get() == expected, "the order of operands");
}

void check_groups(Node& node) {
  std::vector<NodeId> even;
  for (NodeId peer = 0; peer < node.size(); peer += 2) even.insert(even.begin(), peer);
  const Group group(even);
  if (!group.contains(node.id())) return;
  for (const std::size_t count : word_counts) check_collectives(node, group, count, count);
}

void check_deferred_collectives(Node& node) {
  constexpr std::size_t count = 1000;
  const Group all = Group::all(node);
  const UserEvent go = node.create_user_event();
  const Words mine = words_of(node.id(), count, 0);
  Words sums(count);
  Words gathered(count * node.size());
  const Event reduced = allreduce(node, all, mine, sums, sum, CollectiveOptions().after(go));
  const Event joined = allgather(node, all, sums, gathered, CollectiveOptions().after(reduced));
  const Event met = barrier(node, all, CollectiveOptions().after(joined));
  std::vector<Future<std::uint64_t>> many;
  for (std::uint64_t i = 0; i < 50; ++i) {
    many.push_back(allreduce(node, all, i * node.id(), maximum, CollectiveOptions().after(met).key(i)));
  }
  check(!met.has_triggered(), "a collective ran before its precondition");
  node.trigger(go);
  for (std::uint64_t i = 0; i < many.size(); ++i) check(many[i].get() == i * last_of(node), "a deferred all-reduce");
  check(sums == sum_of_words(node.size(), count, 0), "a deferred all-reduce of words");
  for (std::size_t i = 0; i < gathered.size(); ++i) check(gathered[i] == sums[i % count], "a deferred all-gather");
}

// The same vectors again and again, which peers read where they lie, or where they were staged. How many of these calls
// needed no event.
std::size_t lend(Node& node, const Group& all, std::size_t count, bool in_segment) {
  std::size_t inline_calls = 0;
  SegmentArray<std::uint64_t> shared(node, in_segment ? 2 * count : 1);
  Words own(in_segment ? 0 : 2 * count);
  const auto mine = in_segment ? std::span(shared).first(count) : std::span(own).first(count);
  const std::span<std::uint64_t> sums(mine.data() + count, count);
  for (std::uint64_t round = 0; round < 300; ++round) {
    const Words values = words_of(node.id(), count, round);
    std::copy(values.begin(), values.end(), mine.begin());
    const Event done = allreduce(node, all, std::span<const std::uint64_t>(mine), sums, sum);
    inline_calls += done.exists() ? 0U : 1U;
    done.wait();
    // Who still read it would see this.
    std::fill(mine.begin(), mine.end(), ~std::uint64_t{0});
    const Words expected = sum_of_words(node.size(), count, round);
    check(std::equal(sums.begin(), sums.end(), expected.begin()), "what was lent, round " + std::to_string(round));
  }
  return inline_calls;
}

std::size_t lend(Node& node, const Group& all) {
  std::size_t inline_calls = 0;
  for (const std::size_t count : {128U, 384U, 1024U}) {
    inline_calls += lend(node, all, count, true);
    inline_calls += lend(node, all, count, false);
  }
  barrier(node, all).wait();
  check(node.endpoint().segment().bytes_in_use() == 0, "what was staged is still in use");
  return inline_calls;
}

// The same small calls again and again: most need no event where the node has a core of its own. In between the peers
// are late, the call is another node's mistake, and other messages wait to be seen.
void check_inline_collectives(Node& node) {
  const Group all = Group::all(node);
  std::size_t inline_calls = 0;
  std::uint64_t mine = 0;
  std::uint64_t total = 0;
  for (std::uint64_t round = 0; round < 5000; ++round) {
    mine = round * (node.id() + 1);
    if (round % 500 == node.id()) node.spawn_on<describe>(next_of(node), SpawnOptions(), std::string(), round).get();
    const Event done = allreduce(node, all, std::span(&mine, 1), std::span(&total, 1), sum);
    inline_calls += done.exists() ? 0U : 1U;
    done.wait();
    check(total == round * node.size() * (node.size() + 1) / 2, "a small all-reduce in round " + std::to_string(round));
    barrier(node, all).wait();
  }
  // Which is a matter of the cores.
  const std::size_t lent = lend(node, all);
  if (node.id() == 0) say(node, "inline " + std::to_string(inline_calls) + " lent " + std::to_string(lent));
  const Event odd =
      node.id() == 0 ? barrier(node, all) : allreduce(node, all, std::span(&mine, 1), std::span(&total, 1), sum);
  check(code_of(odd) == ErrorCode::mismatch, "the cause where calls disagree that were alike so far");
  check(allreduce(node, all, std::uint64_t{1}, sum).get() == node.size(), "the call after that");
  say(node, "OK");
}

// One node's failed precondition fails the collective everywhere, and harms no other.
void check_poisoned_collectives(Node& node) {
  const Group all = Group::all(node);
  const UserEvent ready = node.create_user_event();
  const Event done = barrier(node, all, CollectiveOptions().after(ready));
  if (node.id() == last_of(node)) {
    node.poison(ready, Error(ErrorCode::io, "on purpose"));
  } else {
    node.trigger(ready);
  }
  check(code_of(done) == ErrorCode::io, "the cause of a poisoned collective");
  barrier(node, all).wait();
}

void check_everything(Node& node) {
  check_remote_tasks(node);
  check_events(node);
  check_phase_barriers(node);
  std::uint64_t round = 0;
  for (const std::size_t count : word_counts) check_collectives(node, Group::all(node), count, round++);
  check_order_of_operands(node);
  check_groups(node);
  check_deferred_collectives(node);
  check_poisoned_collectives(node);
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

void stop(Node& node, const Arguments& arguments) {
  barrier(node, Group::all(node)).wait();
  say(node, "pid " + std::to_string(getpid()));
  if (node.id() == std::stoul(arguments.at(0))) std::raise(SIGSTOP);
  check_collectives(node, Group::all(node), 1024, 0);
  say(node, "OK");
}

void idle(Node& node, const Arguments& arguments) {
  const UserEvent poke =
      broadcast(node, Group::all(node), node.id() == 0 ? node.create_user_event() : UserEvent(), 0).get();
  barrier(node, Group::all(node)).wait();
  std::thread reader;
  if (node.id() == 0) {
    reader = std::thread([&] {
      const int fifo = open(arguments.at(0).c_str(), O_RDONLY | O_CLOEXEC);  // waits for who opens it for writing
      close(fifo);
      node.trigger(poke);
    });
  }
  say(node, "pid " + std::to_string(getpid()));
  poke.wait();
  if (reader.joinable()) reader.join();
  say(node, "woke");
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

/// A node's bits of sums that depend on every bracket: the same for any way to run the job.
void sum_reproducibly(Node& node, const Arguments& arguments) {
  const bool by_option = arguments.empty();
  const CollectiveOptions options = CollectiveOptions().reproducible(by_option);
  std::uint64_t digest = 0;
  const auto note = [&](const std::vector<double>& values) {
    digest = mix_64(digest ^ fnv1a_64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)}));
  };
  for (const std::size_t count : word_counts) {
    std::vector<double> data(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = mix_64((node.id() + 1) * 1'000'003 + i);
      data[i] = std::ldexp(static_cast<double>(bits >> 20U), static_cast<int>(bits % 64)) * (bits % 3 == 0 ? -1 : 1);
    }
    std::vector<double> sums(count);
    allreduce(node, Group::all(node), data, sums, sum, options).wait();
    note(sums);
    scan(node, Group::all(node), data, sums, sum, options).wait();
    note(sums);
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
      {"by-hosts", check_by_hosts},
      {"die", die},
      {"fail", fail},
      {"stop", stop},
      {"idle", idle},
      {"sum-reproducibly", sum_reproducibly},
      {"programs", run_programs},
      {"cores", [](Node& node, const Arguments&) { say(node, "may use " + usable_cores_by_name()); }},
  };
  const Arguments words(argv + 1, argv + argc);
  const std::string action = words.empty() ? "" : words.front();
  if (action == "networks") return networks();
  const auto found = actions.find(action);
  if (found == actions.end()) {
    std::fprintf(stderr, "usage: cluster_probe ACTION [ARGUMENT...]; there is no action \"%s\"\n", action.c_str());
    return 2;
  }
  const Arguments arguments(words.begin() + 1, words.end());
  return run(argc, argv, [&](Node& node) { found->second(node, arguments); });
}
