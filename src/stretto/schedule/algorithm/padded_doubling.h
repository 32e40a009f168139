#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce by recursive doubling padded with virtual ranks to the next power of two, any size: ceil(log2 P) rounds.
///
/// Source: the butterfly of Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 2.1,
/// and its remark that 9 nodes need no more steps than 16 where nodes may send to several others; on that, Chan, van de
/// Geijn, Gropp and Thakur, "Collective communication on architectures that support simultaneous communication over
/// multiple links", PPoPP 2006.
///
/// There are N = 2^ceil(log2 P) places. Place v < P is rank v's; an empty one, v >= P, is looked after by rank v - N/2.
/// In round k place v exchanges what it holds with place v xor 2^k, lower places first; who holds nothing gives
/// nothing. In the last round a rank with two places has both halves. P = 5, N = 8; the empty places 5, 6, 7 are ranks
/// 1, 2, 3:
///
///     rank         0          1          2          3          4          1: 5    2: 6    3: 7
///     start        a          b          c          d          e
///     round 0      ab <-> 1   ab <-> 0   cd <-> 3   cd <-> 2   e -> 5     e <- 4
///     round 1      abcd <-> 2 abcd <-> 3 abcd <-> 0 abcd <-> 1 e -> 6     e -> 7  e <- 4  e <- 5
///     round 2      R <-> 4    R          R          R          R <-> 0
///
/// Where idle nodes are there to help (Shape::auxiliaries), rank v >= P takes the empty place v if there is such a
/// rank; it contributes nothing, and gets no result. With three of them, ranks 5 to 7, ranks 1 to 3 have one place
/// each:
///
///     rank         0          1          2          3          4          5       6       7
///     round 0      ab <-> 1   ab <-> 0   cd <-> 3   cd <-> 2   e -> 5     e <- 4
///     round 1      abcd <-> 2 abcd <-> 3 abcd <-> 0 abcd <-> 1 e -> 6     e -> 7  e <- 4  e <- 5
///     round 2      R <-> 4    R <- 5     R <- 6     R <- 7     R <-> 0    -> 1    -> 2    -> 3
///
/// So 9 ranks take 4 rounds, as 16 do, where a fold (fold.h) takes 5. Ranks that do not wait for each other's rounds
/// gain by that only where more than three quarters of the places are taken: until there the fold has no longer chain
/// of messages. In all rounds but the last a rank with two places may move two vectors.
///
/// Every partial result is a node of the canonical tree (canonical.h), for any size.
class PaddedDoubling final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "padded_doubling"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  bool is_canonical(const Shape&) const override { return true; }
  bool uses_auxiliaries() const noexcept override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
