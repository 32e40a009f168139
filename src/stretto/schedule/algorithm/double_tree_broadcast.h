#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Broadcast along two binary trees, any size, in any number S of segments for each: floor(log2 (P - 1)) + S rounds.
///
/// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
/// Computing 35(12), 2009. Its edges need no colours here, since a rank may send and receive two segments in a round.
///
/// Each half of the vector goes down its own tree, segment after segment. Who passes segments on in one tree is a leaf
/// in the other, so that all ranks but a few send as much as they receive, while the trees are as shallow as any. Ranks
/// are counted from the root: v = (rank - root) mod P. The first tree has the ranks 1 to P - 1 in order, left before
/// right; the second one is the first with ranks mirrored, or, if P is even, moved on by one. P = 6, from the top down:
///
///     first half        0 -> 4      4 -> 2, 5      2 -> 1, 3
///     second half       0 -> 3      3 -> 1, 4      1 -> 5, 2
///     segment s in      round s     round s + 1    round s + 2
class DoubleTreeBroadcast final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "double_tree_broadcast"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::broadcast; }
  Blocking blocking(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
