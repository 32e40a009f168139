#include "stencil_1d/task_allreduce.h"

#include <bit>
#include <memory>
#include <string_view>
#include <utility>

#include "stretto/core/barrier_service.h"

namespace stencil_1d {

using stretto::Event;
using stretto::Future;
using stretto::Node;
using stretto::NodeId;
using stretto::PhaseBarrier;
using stretto::SpawnOptions;
using stretto::Task;

namespace {

constexpr std::string_view part_name = "stencil_1d.task_allreduce";

// Shards that others wait for go before the application's own tasks (section II-C).
constexpr int raised = 100;

TaskAllreduce& part_of(Node& node) { return *static_cast<TaskAllreduce*>(node.part(part_name)); }

// What runs on a partner's node.
void introduce_reader(Node& node, std::uint32_t round, PhaseBarrier ready) { part_of(node).meet_reader(round, ready); }
void introduce_source(Node& node, std::uint32_t round, PhaseBarrier empty) { part_of(node).meet_source(round, empty); }
double read_slot(Node& node, std::uint32_t slot) { return part_of(node).slot(slot); }

// This phase; the barrier moves on to the next.
PhaseBarrier take_phase(PhaseBarrier& barrier) { return std::exchange(barrier, barrier.next()); }

}  // namespace

std::vector<Round> rounds_of(NodeId shard, std::uint32_t shards) {
  const std::uint32_t core = std::bit_floor(shards);
  const std::uint32_t left_over = shards - core;
  const bool is_left_out = shard >= core;
  std::vector<Round> rounds;
  Round fold;
  Round unfold;
  if (is_left_out) {
    fold.reader = unfold.source = shard - core;
    unfold.takes_over = true;
  } else if (shard < left_over) {
    fold.source = unfold.reader = shard + core;
  }
  if (left_over > 0) rounds.push_back(fold);
  for (std::uint32_t distance = 1; distance < core; distance *= 2) {
    Round exchange;
    if (!is_left_out) exchange.source = exchange.reader = shard ^ distance;
    rounds.push_back(exchange);
  }
  if (left_over > 0) rounds.push_back(unfold);
  return rounds;
}

TaskAllreduce::TaskAllreduce(Node& node) : node_(node) {
  for (const Round& round : rounds_of(node.id(), node.size())) {
    Place place;
    place.round = round;
    if (round.source) place.source_is_ready = node.barriers().create(1, {&*round.source, 1});
    if (round.reader) place.slot_is_empty = node.barriers().create(1, {&*round.reader, 1});
    places_.push_back(place);
  }
}

TaskAllreduce& TaskAllreduce::attach(Node& node) {
  auto part = std::make_shared<TaskAllreduce>(node);
  node.attach(part_name, part);
  return *part;
}

Task<> TaskAllreduce::connect() {
  std::vector<Event> told;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const std::optional<NodeId> source = place.round.source;
    const std::optional<NodeId> reader = place.round.reader;
    if (source) told.push_back(node_.spawn_on<introduce_reader>(*source, SpawnOptions(), i, place.source_is_ready));
    if (reader) told.push_back(node_.spawn_on<introduce_source>(*reader, SpawnOptions(), i, place.slot_is_empty));
  }
  co_await node_.merge(told);
}

Event TaskAllreduce::start(const double& input, double& output, Event after) {
  Chain chain;
  chain.updated = after;
  chain.running = &input;
  for (std::uint32_t round = 0; round < places_.size(); ++round) {
    if (places_[round].round.reader) launch_store(chain, round);
    if (places_[round].round.source) launch_read(chain, round);
  }
  launch_update(chain, output, nullptr, stretto::no_event);
  return chain.updated;
}

// The update task: target = running sum, combined with what was read; and a copy of it for the reader.
void TaskAllreduce::launch_update(Chain& chain, double& target, double* copy, Event may_store) {
  const Event read = chain.read ? chain.read->event() : stretto::no_event;
  const Event ready = node_.merge({chain.updated, read, may_store});
  chain.updated = node_.spawn(
      [from = chain.running, read_value = chain.read, takes_over = chain.takes_over, to = &target, copy] {
        double value = *from;
        if (read_value) value = takes_over ? read_value->take() : value + read_value->take();
        *to = value;
        if (copy != nullptr) *copy = value;
      },
      SpawnOptions().after(ready).priority(raised));
  chain.running = &target;
  chain.read.reset();
}

void TaskAllreduce::launch_store(Chain& chain, std::uint32_t round) {
  Place& place = places_[round];
  const std::size_t slot = round % slots_.size();
  launch_update(chain, running_, &slots_[slot], slot_is_free_[slot]);
  slot_is_free_[slot] = take_phase(place.slot_is_empty).event();
  node_.barriers().arrive(take_phase(place.tell_reader), 1, chain.updated);
}

void TaskAllreduce::launch_read(Chain& chain, std::uint32_t round) {
  Place& place = places_[round];
  const auto slot = static_cast<std::uint32_t>(round % slots_.size());
  const Event ready = take_phase(place.source_is_ready).event();
  chain.read = node_.spawn_on<read_slot>(*place.round.source, SpawnOptions().after(ready).priority(raised), slot);
  chain.takes_over = place.round.takes_over;
  node_.barriers().arrive(take_phase(place.tell_source), 1, chain.read->event());
}

}  // namespace stencil_1d
