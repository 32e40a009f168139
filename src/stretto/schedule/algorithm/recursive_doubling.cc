#include "stretto/schedule/algorithm/recursive_doubling.h"

#include <algorithm>

#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Fold fold_of(const Shape& shape) {
  return {shape.size, shape.commutative ? Fold::Pairing::distant : Fold::Pairing::neighbour};
}

Order order_of(Rank source, Rank destination) {
  return source < destination ? Order::source_first : Order::destination_first;
}

}  // namespace

/// The places that exchange in a round of the core, one of which is `me`'s.
class RecursiveDoubling::Party {
 public:
  /// The places are `distance` from one to the next.
  Party(const Fold& fold, Rank me, Rank distance, Rank most)
      : fold_(fold),
        distance_(distance),
        size_(std::min(most, fold.core_size() / distance)),
        me_(fold.place(me) / distance % size_),
        first_(fold.place(me) - me_ * distance) {}

  Rank size() const { return size_; }
  Rank me() const { return me_; }
  Rank rank(Rank member) const { return fold_.rank_at(first_ + member * distance_); }

 private:
  const Fold& fold_;
  Rank distance_;
  Rank size_;
  Rank me_;
  Rank first_;
};

std::string_view RecursiveDoubling::source() const noexcept {
  return doublings_ == 1 ? "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 2.1"
                         : "Ruefenacht, Bull and Booth, \"Generalisation of recursive doubling for AllReduce\", "
                           "EuroMPI 2016";
}

bool RecursiveDoubling::is_canonical(const Shape& shape) const { return fold_of(shape).is_aligned(); }

std::uint32_t RecursiveDoubling::rounds(const Shape& shape) const {
  const Fold fold = fold_of(shape);
  if (shape.size == 1) return 1;  // the local copy
  return (fold.core_rounds() + doublings_ - 1) / doublings_ + (fold.is_needed() ? 2 : 0);
}

void RecursiveDoubling::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Fold fold = fold_of(shape);
  const bool folds = fold.is_needed() && round == 0;
  const bool unfolds = fold.is_needed() && round + 1 == rounds(shape);

  if (fold.is_left_out(me)) {
    if (folds) sink.send(fold.partner(me), input());
    if (unfolds) sink.receive(fold.partner(me), output());
    return;
  }
  if (round == 0) sink.copy(input(), output());
  if (folds) {
    if (fold.has_partner(me)) accumulate(sink, me, fold.partner(me), scratch(0), output());
  } else if (unfolds) {
    if (fold.has_partner(me)) sink.send(fold.partner(me), output());
  } else if (shape.size > 1) {
    const std::uint32_t k = round - (fold.is_needed() ? 1 : 0);
    // What was not added to yet is as good where it comes from: its copy may be left to the reduce.
    const BlockRef given = k == 0 && !fold.has_partner(me) ? input() : output();
    exchange(Party(fold, me, Rank{1} << (k * doublings_), most_in_party()), given, round, sink);
  }
}

void RecursiveDoubling::exchange(const Party& party, BlockRef given, std::uint32_t round, Sink& sink) const {
  const Rank me = party.me();
  // Two sets of landing slots take turns, so that who is one round ahead finds its slot free.
  const auto landing = [&](Rank member) {
    return scratch(round % 2 * (most_in_party() - 1) + (member < me ? member : member - 1));
  };
  // Nobody gets two messages at a time.
  for (Rank other = 1; other < party.size(); ++other) sink.send(party.rank(me ^ other), given);
  for (Rank other = 1; other < party.size(); ++other) sink.receive(party.rank(me ^ other), landing(me ^ other));
  sink.reduce(landing(me ^ 1U), output(), order_of(me ^ 1U, me));
  if (party.size() < 4) return;
  const Rank lower = (me ^ 2U) & ~Rank{1};
  sink.reduce(landing(lower + 1), landing(lower), Order::destination_first);
  sink.reduce(landing(lower), output(), order_of(lower, me));
}

std::uint32_t RecursiveDoubling::scratch_blocks(const Shape& shape, Rank me) const {
  const Fold fold = fold_of(shape);
  if (fold.is_left_out(me) || shape.size == 1) return 0;
  const Rank of_a_round = std::min(most_in_party(), fold.core_size()) - 1;
  return rounds(shape) == 1 ? of_a_round : 2 * (most_in_party() - 1);
}

}  // namespace stretto::schedule
