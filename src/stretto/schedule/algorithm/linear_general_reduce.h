#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Reduce from any participants to any receivers, by way of one receiver: it takes all inputs, combines them in rank
/// order, and gives the other receivers the result.
///
/// Source: the flat tree of MPI libraries, for example Open MPI's "basic linear". For ranks that take turns on few
/// cores, see linear_allreduce.h, and for operators that do not commute. The one is the first participant that
/// receives, or the first other receiver where none does. Participants 0 to 3, of which 0 and 1 receive, and receiver
/// 4:
///
///     rank         0                    1          2       3       4
///     start        a                    b          c       d
///     round 0      abcd <- 1, 2, 3      -> 0       -> 0    -> 0
///     round 1      -> 1, 4              R <- 0                     R <- 0
class LinearGeneralReduce final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "linear_general_reduce"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::general_reduce; }
  bool is_canonical(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
