#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Broadcast as scatter and allgather, any size: ceil(log2 P) + P - 1 rounds, each rank moves about twice the vector.
///
/// Source: Barnett, Shuler, van de Geijn, Gupta, Payne and Watts, "Interprocessor collective communication library
/// (InterCom)", SHPCC 1994; Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on broadcast (long messages).
///
/// The vector has a block for each rank, and ranks are counted from the root: v = (rank - root) mod P. A binomial tree
/// leaves block v, and those of the ranks below it in the tree, with v; then the blocks go round a ring. What a rank
/// has since the scatter is not sent to it again, the root gets nothing. P = 4, what is received:
///
///     v            0       1       2       3
///     scatter 0                    23
///     scatter 1            1               3
///     ring 0               0       1       2
///     ring 1               3       0       1
///     ring 2               2               0
class VanDeGeijnBroadcast final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "van_de_geijn_broadcast"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::broadcast; }
  Blocking blocking(const Shape& shape) const override { return {.unit = shape.size}; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 0; }
};

}  // namespace stretto::schedule
