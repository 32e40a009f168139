#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fft3d/plan.h"
#include "fft3d/transposition.h"

namespace fft3d {

/// One node's part of the array, and what is done to it without communication. First the node has planes of constant x,
/// as [x][y][z], of the numbers of fill(); transformed, planes of constant y, as [y][x][z].
class Slabs {
 public:
  Slabs(const std::array<std::size_t, 3>& n, std::uint32_t nodes, std::uint32_t me, std::size_t planes_per_message);

  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  /// One direction's way: planes are transformed, transposed, and what they become is transformed.
  struct Way {
    Way(const Transposition& what_goes_where, Plan before_it, Plan after_it, int dimensions,
        std::vector<Complex>& source, std::vector<Complex>& target)
        : transposition(what_goes_where),
          first(std::move(before_it)),
          second(std::move(after_it)),
          dimensions_before(dimensions),
          from(source),
          to(target) {}

    /// Transforms this node's planes of a round, and puts them in the order in which they are given.
    void give(std::size_t round, std::span<Complex> given);
    /// Puts what came in a round in its place.
    void take(std::size_t round, std::span<const Complex> got) { transposition.unpack(round, got, to); }
    /// When all rounds have come.
    void finish();

    Transposition transposition;
    Plan first;
    Plan second;
    int dimensions_before;  ///< of the three, transformed before the transposition
    std::vector<Complex>& from;
    std::vector<Complex>& to;
  };
  Way& forward() { return forward_; }
  Way& backward() { return backward_; }

  /// Of all nodes.
  std::size_t size() const { return n_[0] * n_[1] * n_[2]; }
  /// Puts the numbers in that are transformed.
  void reset();
  /// How far the planes of constant x, transformed forward and back, are from these.
  double round_trip_error() const;
  std::span<const Complex> transformed() const { return by_y_; }
  /// Elements of each node's transformed().
  std::vector<std::size_t> transformed_counts() const;
  /// What a node gives to another in a round, at most.
  std::size_t most_block_bytes() const;

 private:
  std::array<std::size_t, 3> n_;
  Partition x_;
  Partition y_;
  std::uint32_t me_;
  std::size_t planes_per_message_;
  std::vector<Complex> by_x_;
  std::vector<Complex> by_y_;
  Way forward_;
  Way backward_;
};

}  // namespace fft3d
