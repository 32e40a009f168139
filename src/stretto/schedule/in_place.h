#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// Of more than so many ranks none lends what nobody combines: a call that is done in itself lends no more at once.
inline constexpr Rank most_who_lend_copies = 32;

/// A rank's steps of one round, as the algorithm writes them, and which of its messages need not be sent where ranks
/// share memory, since it combines them from where they lie at their sender (docs/decisions/0015), or copies them from
/// there (docs/decisions/0055).
///
/// The one text of that rule: the executor lowers schedules by it, the cost model prices them.
class Round final : public Sink {
 public:
  /// REQUIRES: the algorithm supports the shape, rank < shape.size, round < rounds(shape).
  Round(const Algorithm& algorithm, const Shape& shape, Rank rank, std::uint32_t round);

  static constexpr std::size_t none = ~std::size_t{0};

  const std::vector<Step>& steps() const noexcept { return steps_; }
  const Step& operator[](std::size_t at) const { return steps_[at]; }
  /// The place of message number `ordinal` of that kind with `peer`, or `none`.
  std::size_t find(StepKind kind, Rank peer, std::uint32_t ordinal) const;
  /// The place of the reduce that takes what steps[at] receives from where it lies at its sender; `none` if it is not
  /// taken from there. Of a first round.
  std::size_t reader_of(std::size_t at) const { return leaves_alone_what_it_sends_ ? only_reader_of(at) : none; }
  /// Whether the rank goes on when what it sends can be read, and does not wait until it has been: it sends of its
  /// input, and writes over that only where the caller has input and output in one place, where a copy can be read.
  bool lends() const noexcept { return lends_; }
  /// The same where what it sends is not combined. Of the first round of an exchange of few; not where it sends the
  /// same data to several, which goes to all at once (docs/decisions/0048).
  bool lends_copies() const noexcept { return lends_copies_; }

 private:
  void emit(const Step& step) override { steps_.push_back(step); }
  bool sends_input_only() const;
  bool sends_nothing_twice(const Shape& shape, Rank rank) const;
  bool writes_what_it_sends(const Shape& shape, Rank rank) const;
  std::size_t only_reader_of(std::size_t at) const;

  std::vector<Step> steps_;
  bool leaves_alone_what_it_sends_ = false;  // or a copy
  bool lends_ = false;
  bool lends_copies_ = false;
};

}  // namespace stretto::schedule
