#include "stencil_1d/shard.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "stretto/core/barrier_service.h"

namespace stencil_1d {

using stretto::Event;
using stretto::Node;
using stretto::NodeId;
using stretto::PhaseBarrier;
using stretto::SpawnOptions;

namespace {

constexpr std::string_view part_name = "stencil_1d.shard";

void deliver_ghost(Node& node, Shard::Side side, Edge values) { Shard::of(node).take_ghost(side, values); }

}  // namespace

Shard::Shard(Node& node, const Grid& grid, double point_seconds)
    : node_(node),
      grid_(grid),
      first_(node.id() * grid.points),
      point_seconds_(point_seconds),
      values_(grid.points + 2 * ghost_width),
      derivative_(grid.points) {
  for (const Side side : {left, right}) {
    if (!has_neighbour(side)) continue;
    const NodeId neighbour = side == left ? node.id() - 1 : node.id() + 1;
    ghosts_[side].awaited = ghosts_[side].arriving = node.barriers().create(1, {&neighbour, 1});
  }
}

Shard& Shard::attach(Node& node, const Grid& grid, double point_seconds) {
  auto shard = std::make_shared<Shard>(node, grid, point_seconds);
  node.attach(part_name, shard);
  return *shard;
}

Shard& Shard::of(Node& node) { return *static_cast<Shard*>(node.part(part_name)); }

bool Shard::has_neighbour(Side side) const { return side == left ? node_.id() > 0 : node_.id() + 1 < node_.size(); }

Event Shard::differentiate(double phase) {
  evaluate(phase);
  const Event filled = node_.merge({next_ghost(left), next_ghost(right)});
  return node_.spawn([this] { take_derivative(); }, SpawnOptions().after(filled));
}

Event Shard::next_ghost(Side side) {
  if (!has_neighbour(side)) return stretto::no_event;
  PhaseBarrier& barrier = ghosts_[side].awaited;
  return std::exchange(barrier, barrier.next()).event();
}

// The edges leave first, so that they travel while the rest is evaluated.
void Shard::evaluate(double phase) {
  phase_ = phase;
  const auto first = static_cast<std::int64_t>(first_) - std::int64_t{ghost_width};
  const auto evaluate_range = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      values_[i] = field(grid_.position(first + static_cast<std::int64_t>(i)), phase);
    }
  };
  // Beyond the ends of the grid, the function itself is known.
  if (!has_neighbour(left)) evaluate_range(0, ghost_width);
  if (!has_neighbour(right)) evaluate_range(values_.size() - ghost_width, values_.size());
  const std::size_t points_end = values_.size() - ghost_width;
  evaluate_range(ghost_width, 2 * ghost_width);
  evaluate_range(points_end - ghost_width, points_end);
  send_edges();
  evaluate_range(2 * ghost_width, std::max(2 * ghost_width, points_end - ghost_width));
  charge(0.5);
}

void Shard::send_edges() {
  const auto edge_at = [this](std::size_t begin) {
    Edge edge;
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(begin), ghost_width, edge.begin());
    return edge;
  };
  // What is my left edge is my left neighbour's ghost on its right.
  if (has_neighbour(left)) {
    node_.spawn_on<deliver_ghost>(node_.id() - 1, SpawnOptions(), right, edge_at(ghost_width));
  }
  if (has_neighbour(right)) {
    node_.spawn_on<deliver_ghost>(node_.id() + 1, SpawnOptions(), left, edge_at(grid_.points));
  }
}

void Shard::take_ghost(Side side, const Edge& values) {
  Ghost& ghost = ghosts_[side];
  ghost.values = values;
  node_.barriers().arrive(std::exchange(ghost.arriving, ghost.arriving.next()));
}

void Shard::take_derivative() {
  if (has_neighbour(left)) std::copy_n(ghosts_[left].values.begin(), ghost_width, values_.begin());
  if (has_neighbour(right)) {
    std::copy_n(ghosts_[right].values.begin(), ghost_width, values_.end() - std::ptrdiff_t{ghost_width});
  }
  stencil_1d::differentiate(values_, grid_.spacing(), derivative_);
  result_ = shard_result(derivative_, grid_.spacing());
  charge(0.5);
}

// Half of a point's cost is its evaluation, half its derivative.
void Shard::charge(double share) { node_.charge(share * point_seconds_ * static_cast<double>(grid_.points)); }

}  // namespace stencil_1d
