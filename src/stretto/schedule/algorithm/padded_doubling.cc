#include "stretto/schedule/algorithm/padded_doubling.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// The places of a group, and who looks after them.
class Places {
 public:
  explicit Places(const Shape& shape)
      : terms_(contributing_ranks(shape)),
        ranks_(shape.size),
        half_(terms_ == 1 ? 0 : Rank{1} << (doublings(terms_) - 1)) {}

  Rank rank_of(Rank place) const { return place < ranks_ ? place : place - half_; }
  /// Whether `me` has a place of its own: an auxiliary beyond the last place has none.
  bool has_first(Rank me) const { return me < terms_ || me / 2 < half_; }
  /// Whether `me` has an empty place beside its own: half_ places on.
  bool has_second(Rank me) const { return me < half_ && me + half_ >= ranks_; }
  Rank second(Rank me) const { return me + half_; }
  /// Whether the place holds something after so many rounds.
  bool holds(Rank place, std::uint32_t rounds) const { return place >> rounds << rounds < terms_; }
  /// Whether the place has to hold something then: all, but for empty ones in the end.
  bool needs(Rank place, std::uint32_t rounds) const { return place < terms_ || rounds < doublings(terms_); }

 private:
  Rank terms_;
  Rank ranks_;
  Rank half_;  ///< of the places
};

/// What a place does in a round: it gives what it holds, and combines what it gets, lower places first.
struct Exchange {
  Places places;
  Rank place;
  Rank partner;
  std::uint32_t round;
  BlockRef partial;

  void give(Sink& sink) const {
    if (places.holds(place, round) && places.needs(partner, round + 1)) sink.send(places.rank_of(partner), partial);
  }
  void take(Sink& sink, BlockRef landing) const {
    if (!places.holds(partner, round) || !places.needs(place, round + 1)) return;
    const bool is_first = !places.holds(place, round);
    sink.receive(places.rank_of(partner), is_first ? partial : landing);
    if (is_first) return;
    sink.reduce(landing, partial, partner < place ? Order::source_first : Order::destination_first);
  }
};

}  // namespace

std::string_view PaddedDoubling::source() const noexcept {
  return "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 2.1, with empty "
         "places";
}

std::uint32_t PaddedDoubling::rounds(const Shape& shape) const {
  // A rank that is alone still has its copy to make.
  return std::max(doublings(contributing_ranks(shape)), 1U);
}

void PaddedDoubling::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Places places(shape);
  const bool is_auxiliary = me >= contributing_ranks(shape);
  if (round == 0 && !is_auxiliary) sink.copy(input(), output());
  if (contributing_ranks(shape) == 1 || !places.has_first(me)) return;
  const Rank distance = Rank{1} << round;
  const bool has_second = places.has_second(me);
  const Rank second = places.second(me);
  const BlockRef other_half = scratch(4);
  if (has_second && round + 1 == rounds(shape)) {
    return sink.reduce(other_half, output(), Order::destination_first);
  }
  // Two landing slots for each place take turns, so that a partner who is one round ahead finds its slot free.
  const Exchange mine{places, me, me ^ distance, round, is_auxiliary ? other_half : output()};
  const Exchange beside{places, second, second ^ distance, round, other_half};
  mine.give(sink);
  if (has_second) beside.give(sink);
  mine.take(sink, scratch(round % 2));
  if (has_second) beside.take(sink, scratch(2 + round % 2));
}

std::uint32_t PaddedDoubling::scratch_blocks(const Shape& shape, Rank me) const {
  if (contributing_ranks(shape) == 1) return 0;
  return Places(shape).has_second(me) || me >= contributing_ranks(shape) ? 5 : 2;
}

}  // namespace stretto::schedule
