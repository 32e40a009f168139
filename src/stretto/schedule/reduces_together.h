#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/block_lengths.h"
#include "stretto/schedule/concurrent.h"

namespace stretto::schedule {

/// Several general reduces that begin at once as one algorithm, whose ranks are the nodes: in each round a node does
/// its part of all. For those who price it over wires; there is no vector whose blocks these are, but each has its
/// length.
class ReducesTogether final : public Algorithm {
 public:
  static constexpr std::size_t most_reduces = 256;

  /// REQUIRES: each algorithm supports its shape, and uses fewer than 2^24 blocks; no more than `most_reduces`. What
  /// `reduces` is of outlives it.
  explicit ReducesTogether(std::span<const PlacedReduce> reduces);

  std::string_view name() const noexcept override { return "reduces_together"; }
  std::string_view source() const noexcept override { return {}; }
  Operation operation() const noexcept override { return Operation::general_reduce; }
  /// Of all nodes.
  Shape shape() const;
  Lead lead(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }

  // For those who walk it, see Walk.

  /// Bytes in a run of blocks.
  std::uint64_t of(const BlockRef& ref) const;
  std::uint32_t strands() const noexcept { return static_cast<std::uint32_t>(reduces_.size()); }
  /// Of which reduce it is.
  std::uint32_t strand_of(const Step& step) const noexcept {
    return (step.kind == StepKind::receive ? step.destination_first : step.source_first) / most_blocks;
  }

 private:
  /// Blocks of reduce i have the numbers from i * most_blocks on.
  static constexpr std::uint32_t most_blocks = std::uint32_t{1} << 24U;

  /// What a node is in a reduce.
  struct Part {
    std::uint32_t reduce;
    Rank rank;
  };

  Rank rank_of(std::uint32_t node) const noexcept {
    return static_cast<Rank>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }

  std::span<const PlacedReduce> reduces_;
  std::vector<BlockLengths> lengths_;
  std::vector<std::uint32_t> nodes_;      // of all reduces, in order
  std::vector<std::vector<Part>> parts_;  // by rank, each of which is one of these
};

}  // namespace stretto::schedule
