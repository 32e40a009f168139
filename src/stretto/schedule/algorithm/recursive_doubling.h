#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-reduce by recursive doubling, any size: the butterfly. Or by recursive multiplying of radix 4, two doublings a
/// round, in which each exchanges with three others at a time: for short vectors where a message's latency is much
/// longer than what it costs its sender.
///
/// Sources: Ali, Pai and Midkiff, "Advanced collective communication in Aspen", ICS 2008, section 2.1 (any size, its
/// Fig. 2); the construction in tasks is section I-C of the Legion all-reduce paper. Several at a time: Ruefenacht,
/// Bull and Booth, "Generalisation of recursive doubling for AllReduce", EuroMPI 2016.
///
/// In round k of the core, place v exchanges its partial result with place v xor 2^k, and both combine the two, lower
/// place first. Sizes that are not a power of two fold onto rho = 2^floor(log2 P) first (see fold.h) and take
/// 2 + floor(log2 P) rounds. P = 6, rho = 4, commutative operator; ab is a (+) b, all six is R:
///
///     rank         0          1          2          3          4          5
///     start        a          b          c          d          e          f
///     round 0      ae <- 4    bf <- 5    c          d          -> 0       -> 1
///     round 1      aebf <-> 1 aebf <-> 0 cd <-> 3   cd <-> 2
///     round 2      R <-> 2    R <-> 3    R <-> 0    R <-> 1
///     round 3      -> 4       -> 5                             R <- 0     R <- 1
///
/// Two doublings a round: the places that differ in two digits exchange, and each combines the two lower ones, the two
/// higher ones, and both; where one digit is left, two do. Half the rounds, and one and a half times the messages. P =
/// 8:
///
///     rank         0               1               2               3               4               and so on
///     start        a               b               c               d               e
///     round 0      abcd <-> 1 2 3  abcd <-> 0 2 3  abcd <-> 0 1 3  abcd <-> 0 1 2  efgh <-> 5 6 7
///     round 1      R <-> 4         R <-> 5         R <-> 6         R <-> 7         R <-> 0
///
/// An operator that does not commute folds neighbours (1 -> 0, 3 -> 2) instead, so that every partial result covers a
/// run of ranks and R is abcdef. All ranks combine the same terms in the same order: equal bits everywhere, however
/// many doublings there are in a round.
class RecursiveDoubling final : public Algorithm {
 public:
  /// `doublings`: in a round, 1 or 2.
  constexpr RecursiveDoubling(std::string_view name, std::uint32_t doublings) noexcept
      : name_(name), doublings_(doublings) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  bool is_canonical(const Shape& shape) const override;
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;

 private:
  class Party;

  Rank most_in_party() const noexcept { return Rank{1} << doublings_; }
  void exchange(const Party& party, BlockRef given, std::uint32_t round, Sink& sink) const;

  std::string_view name_;
  std::uint32_t doublings_;
};

}  // namespace stretto::schedule
