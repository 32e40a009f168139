#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stencil_1d/problem.h"
#include "stretto/core/node.h"
#include "stretto/core/phase_barrier.h"

namespace stencil_1d {

/// One node's part of the grid, with the ghost zones that its neighbours fill by remote tasks.
///
/// A part of its node. Its functions are called by one task at a time. All nodes must have made theirs before any of
/// them calls differentiate, and must have finished an iteration (here: taken part in its collective) before any begins
/// the next, for a shard has room for one iteration's ghosts.
class Shard {
 public:
  /// `point_seconds`: what the evaluation and the derivative of a point cost together, in virtual time.
  Shard(stretto::Node& node, const Grid& grid, double point_seconds);

  /// Makes the shard of `node`.
  static Shard& attach(stretto::Node& node, const Grid& grid, double point_seconds);
  /// REQUIRES: attach was called at this node.
  static Shard& of(stretto::Node& node);

  /// Evaluates the field, sends its edges to the neighbours, and launches the task that takes the derivative when
  /// theirs have come. Triggers when `result` is there. In a task.
  stretto::Event differentiate(double phase);

  /// This shard's contribution to the sum. Valid until the next call of differentiate.
  const double& result() const noexcept { return result_; }
  /// Of the latest derivative.
  double error() const { return largest_error(grid_, first_, derivative_, phase_); }

  stretto::Node& node() noexcept { return node_; }

  enum Side : std::uint8_t { left, right };
  /// Takes the neighbour's edge on that side. Called by its remote task.
  void take_ghost(Side side, const Edge& values);

 private:
  // The values of a neighbour's edge. Its barrier has a phase for each iteration, which the neighbour may end before
  // this shard comes to wait for it; none where the grid ends.
  struct Ghost {
    stretto::PhaseBarrier awaited;
    stretto::PhaseBarrier arriving;
    Edge values{};
  };

  bool has_neighbour(Side side) const;
  stretto::Event next_ghost(Side side);
  void evaluate(double phase);
  void send_edges();
  void take_derivative();
  void charge(double share);

  stretto::Node& node_;
  Grid grid_;
  std::size_t first_;
  double point_seconds_;
  double phase_ = 0;
  std::vector<double> values_;  // ghosts, points, ghosts
  std::vector<double> derivative_;
  std::array<Ghost, 2> ghosts_;  // by side
  double result_ = 0;
};

}  // namespace stencil_1d
