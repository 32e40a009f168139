#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-to-all in ceil(log2 P) rounds, any size, for blocks of equal length.
///
/// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", IEEE TPDS 8(11), 1997, on index; Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005 (short
/// messages). Each block travels more than once, so it is for blocks whose bytes cost less than a message.
///
/// At each rank, position i has what has i still to go around the ring from its source: at first the input for r + i.
/// In round k rank r packs the positions i whose bit k is set and sends them to r + 2^k, where they take the same
/// positions. When the highest bit of i has gone, position i has arrived: at r is then what came from r - i. P = 4, at
/// rank 0, where BA is from rank B for rank A:
///
///     position     0       1       2       3
///     start        AA      AB      AC      AD
///     round 0 +1   AA      DA      AC      DC      1, 3 -> rank 1, 1, 3 <- rank 3; position 1 has arrived
///     round 1 +2   AA      DA      CA      BA      2, 3 -> rank 2, 2, 3 <- rank 2
///
/// Scratch has the positions, then the packed blocks to send, then those received.
class BruckAllToAll final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "bruck_all_to_all"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::all_to_all; }
  bool needs_equal_blocks() const noexcept override { return true; }
  bool rotation_symmetric(const Shape&) const override { return true; }
  Lead lead(const Shape&) const override { return {.sends = 1, .receives = 1}; }  // what came goes on from its place
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank) const override { return shape.size == 1 ? 0 : 3 * shape.size; }
};

}  // namespace stretto::schedule
