#include "stencil_1d/aggregate.h"

#include <memory>
#include <string_view>
#include <utility>

#include "stretto/collective/collective.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/future.h"

namespace stencil_1d {

using stretto::Event;
using stretto::Future;
using stretto::Node;
using stretto::NodeId;
using stretto::SpawnOptions;
using stretto::Task;

namespace {

constexpr std::string_view part_name = "stencil_1d.aggregate";
constexpr NodeId leader = 0;

/// Where the tasks of one shard leave what they have seen. A part of its node.
struct Memory {
  explicit Memory(Node& node) : finished(node.barriers().create(1, {&leader, 1})) {}
  static Memory& of(Node& node) { return *static_cast<Memory*>(node.part(part_name)); }

  History history;
  stretto::PhaseBarrier finished;  // or poisoned, when the leader is lost
};

/// The shard's task of one iteration; returns its result. `sum` is the one before.
Task<double> iterate(Node& node, double sum, bool is_first) {
  History& history = Memory::of(node).history;
  Shard& shard = Shard::of(node);
  history.record.begun.push_back(node.now());
  if (!is_first) history.results.push_back(sum);
  const Event derived = shard.differentiate(sum);
  const Future<double> derived_at = node.time_of(derived);
  co_await derived;
  history.record.derived.push_back(co_await derived_at);
  co_return shard.result();
}

/// The shard's last task brings it the last sum.
void finish(Node& node, double sum) {
  Memory& memory = Memory::of(node);
  memory.history.record.begun.push_back(node.now());
  memory.history.results.push_back(sum);
  node.barriers().arrive(memory.finished);
}

Task<> lead(Node& node, std::size_t iterations) {
  double sum = 0;
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<Future<double>> results;
    for (NodeId shard = 0; shard < node.size(); ++shard) {
      results.push_back(node.spawn_on<iterate>(shard, SpawnOptions(), sum, i == 0));
    }
    sum = 0;
    for (const Future<double>& result : results) sum += co_await result;
  }
  std::vector<Event> told;
  for (NodeId shard = 0; shard < node.size(); ++shard) {
    told.push_back(node.spawn_on<finish>(shard, SpawnOptions(), sum));
  }
  co_await node.merge(told);
}

}  // namespace

Task<History> run_aggregate(Shard& shard, std::size_t iterations) {
  Node& node = shard.node();
  auto memory = std::make_shared<Memory>(node);
  node.attach(part_name, memory);
  co_await barrier(node, stretto::Group::all(node));
  if (node.id() == leader) co_await node.spawn([iterations](Node& here) { return lead(here, iterations); });
  co_await memory->finished.event();
  co_return std::move(memory->history);
}

}  // namespace stencil_1d
