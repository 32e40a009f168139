#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce from any participants to any receivers: a tree where one receives, the butterfly where all participants do.
///
/// Source: Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 3.2. P are the
/// participants, Rp the receivers among them, which come first, Rnp the other receivers, which come last.
///
/// 1. Participants from rho = 2^floor(log2 |P|) on give their input to the first ones, as in recursive_doubling.h. If
///    they receive, they count as Rnp from here on.
/// 2. While there are at least 2 max(|Rp|, |Rnp|) participants, the higher half gives to the lower half and retires.
/// 3. The rest run the butterfly; its last round serves only the first max(|Rp|, |Rnp|) of them, the holders.
/// 4. Rnp gets the result from the holders: each tops a tree where there are fewer holders than members of Rnp.
///
/// The paper's Fig. 4, its nodes 1 to 11 here ranks 0 to 10: |P| = 8, |Rp| = 2, |Rnp| = 3; all eight terms are R:
///
///     rank         0      1      2      3      4    5    6    7    8    9    10
///     start        a      b      c      d      e    f    g    h
///     round 0      ae<-4  bf<-5  cg<-6  dh<-7  ->0  ->1  ->2  ->3
///     round 1      aebf   aebf   cgdh   cgdh                            0 <-> 1, 2 <-> 3
///     round 2      R<-2   R<-3   R<-0                                   3 gets nothing
///     round 3      ->8    ->9    ->10                               R    R    R
///
/// With a power of two |P| that is at most 2 + floor(log2 max(|P|, |Rnp|)) rounds, as the paper says. With another |P|,
/// step 1 may leave rho holders to serve more than rho receivers, which takes a round more than the paper's bound:
/// three participants and three other receivers need four rounds.
class AspenGeneralReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "aspen_general_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::general_reduce; }
  bool needs_commutative() const noexcept override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
