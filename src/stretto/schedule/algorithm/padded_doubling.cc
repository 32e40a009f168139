#include "stretto/schedule/algorithm/padded_doubling.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// The places of a group, and who looks after them.
class Places {
 public:
  explicit Places(Rank size) : size_(size), half_(size == 1 ? 0 : Rank{1} << (doublings(size) - 1)) {}

  Rank rank_of(Rank place) const { return place < size_ ? place : place - half_; }
  /// Whether `me` has an empty place beside its own: half_ places on.
  bool has_second(Rank me) const { return me < half_ && me + half_ >= size_; }
  Rank second(Rank me) const { return me + half_; }
  /// Whether the place holds something after so many rounds.
  bool holds(Rank place, std::uint32_t rounds) const { return place >> rounds << rounds < size_; }

 private:
  Rank size_;
  Rank half_;
};

/// What a place does in a round: it gives what it holds, and combines what it gets, lower places first.
struct Exchange {
  Places places;
  Rank place;
  Rank partner;
  std::uint32_t round;
  BlockRef partial;

  void give(Sink& sink) const {
    if (places.holds(place, round)) sink.send(places.rank_of(partner), partial);
  }
  void take(Sink& sink, BlockRef landing) const {
    if (!places.holds(partner, round)) return;
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
  return std::max(doublings(shape.size), 1U);  // a rank that is alone still has its copy to make
}

void PaddedDoubling::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  if (round == 0) sink.copy(input(), output());
  if (shape.size == 1) return;
  const Places places(shape.size);
  const Rank distance = Rank{1} << round;
  const bool has_second = places.has_second(me);
  const Rank second = places.second(me);
  const BlockRef other_half = scratch(4);
  if (has_second && round + 1 == rounds(shape)) {
    return sink.reduce(other_half, output(), Order::destination_first);
  }
  // Two landing slots for each place take turns, so that a partner who is one round ahead finds its slot free.
  const Exchange mine{places, me, me ^ distance, round, output()};
  const Exchange beside{places, second, second ^ distance, round, other_half};
  mine.give(sink);
  if (has_second) beside.give(sink);
  mine.take(sink, scratch(round % 2));
  if (has_second) beside.take(sink, scratch(2 + round % 2));
}

std::uint32_t PaddedDoubling::scratch_blocks(const Shape& shape, Rank me) const {
  if (shape.size == 1) return 0;
  return Places(shape.size).has_second(me) ? 5 : 2;
}

}  // namespace stretto::schedule
