#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fft3d/plan.h"

namespace fft3d {

/// `count` things, spread over `nodes` in order, as evenly as can be: the first ones have one more.
class Partition {
 public:
  Partition(std::size_t count, std::uint32_t nodes) : count_(count), nodes_(nodes) {}

  std::size_t count() const { return count_; }
  std::uint32_t nodes() const { return nodes_; }
  std::size_t begin(std::uint32_t node) const {
    return count_ / nodes_ * node + std::min<std::size_t>(node, count_ % nodes_);
  }
  std::size_t size(std::uint32_t node) const { return begin(node + 1) - begin(node); }
  /// Of any node.
  std::size_t largest() const { return size(0); }

 private:
  std::size_t count_;
  std::uint32_t nodes_;
};

/// How an array [plane][row][point], of which a node has some planes, becomes [row][plane][point], of which it has some
/// rows: in rounds, each an all-to-all of the same number of planes of each node, fewer or none where they run out.
///
/// Pure: says what goes where; does not communicate.
class Transposition {
 public:
  Transposition(Partition planes, Partition rows, std::size_t points, std::uint32_t me, std::size_t planes_per_round)
      : planes_(planes), rows_(rows), points_(points), me_(me), planes_per_round_(planes_per_round) {}

  /// At least one, the same at all nodes.
  std::size_t rounds() const { return (planes_.largest() + planes_per_round_ - 1) / planes_per_round_; }
  /// Elements of this node, before and after, all rounds together.
  std::size_t input_size() const { return planes_.size(me_) * plane_size(); }
  std::size_t output_size() const { return rows_.size(me_) * row_size(); }

  /// Elements of a plane before, and of a row's after.
  std::size_t plane_size() const { return rows_.count() * points_; }
  std::size_t row_size() const { return planes_.count() * points_; }
  /// This node's planes of a round: the first one, and how many.
  std::size_t first_plane(std::size_t round) const { return round * planes_per_round_; }
  std::size_t planes_in(std::size_t round) const { return planes_in(round, me_); }

  /// Elements that this node gives to each in a round, and gets from each.
  std::vector<std::size_t> input_counts(std::size_t round) const;
  std::vector<std::size_t> output_counts(std::size_t round) const;
  /// Where a round's elements begin among those of all rounds, given and got.
  std::size_t input_offset(std::size_t round) const;
  std::size_t output_offset(std::size_t round) const;

  /// Puts a round's planes into the order in which they are given: by receiver. `planes` are all of this node's.
  void pack(std::size_t round, std::span<const Complex> planes, std::span<Complex> given) const;
  /// Puts what was got in a round into its place among this node's rows, all of them.
  void unpack(std::size_t round, std::span<const Complex> got, std::span<Complex> rows) const;

 private:
  std::size_t planes_in(std::size_t round, std::uint32_t node) const;

  Partition planes_;
  Partition rows_;
  std::size_t points_;
  std::uint32_t me_;
  std::size_t planes_per_round_;
};

}  // namespace fft3d
