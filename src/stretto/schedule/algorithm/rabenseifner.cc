#include "stretto/schedule/algorithm/rabenseifner.h"

#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Fold fold_of(const Shape& shape) { return {shape.size, Fold::Pairing::neighbour}; }

/// The blocks that `place` still holds when the vector has been halved so many times.
struct Held {
  Held(const Fold& fold, Rank place, std::uint32_t halvings) : count(fold.core_size() >> halvings) {
    for (std::uint32_t k = 0; k < halvings; ++k) {
      if ((place >> k & 1U) != 0) first += fold.core_size() >> (k + 1);
    }
  }
  BlockRef in(Buffer buffer) const { return {buffer, first, count}; }

  std::uint32_t first = 0;
  std::uint32_t count;
};

/// Exchanges halves of what is held with the partner of round `k`, and combines the half that `me` keeps.
void halve(Sink& sink, const Fold& fold, Rank me, std::uint32_t k, std::uint32_t landing) {
  const Rank place = fold.place(me);
  const Rank partner = place ^ (Rank{1} << k);
  const Held kept(fold, place, k + 1);
  const Held given(fold, partner, k + 1);
  const bool is_first = k == 0 && !fold.has_partner(me);
  sink.send(fold.rank_at(partner), given.in(is_first ? Buffer::input : Buffer::output));
  if (is_first) sink.copy(kept.in(Buffer::input), kept.in(Buffer::output));
  accumulate(sink, me, fold.rank_at(partner), scratch(landing + kept.first, kept.count), kept.in(Buffer::output));
}

/// The way back: each gives the partner of round `k` all that it holds.
void widen(Sink& sink, const Fold& fold, Rank me, std::uint32_t k) {
  const Rank place = fold.place(me);
  const Rank partner = place ^ (Rank{1} << k);
  exchange(sink, fold.rank_at(partner), Held(fold, place, k + 1).in(Buffer::output),
           Held(fold, partner, k + 1).in(Buffer::output));
}

}  // namespace

std::string_view Rabenseifner::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on all-reduce";
}

Blocking Rabenseifner::blocking(const Shape& shape) const { return {.unit = fold_of(shape).core_size()}; }

bool Rabenseifner::is_canonical(const Shape& shape) const { return fold_of(shape).is_aligned(); }

std::uint32_t Rabenseifner::rounds(const Shape& shape) const {
  const Fold fold = fold_of(shape);
  if (shape.size == 1) return 1;  // the local copy
  return 2 * fold.core_rounds() + (fold.is_needed() ? 2 : 0);
}

void Rabenseifner::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Fold fold = fold_of(shape);
  const bool folds = fold.is_needed() && round == 0;
  const bool unfolds = fold.is_needed() && round + 1 == rounds(shape);
  const BlockRef whole_input = input(0, shape.blocks);
  const BlockRef whole_output = output(0, shape.blocks);
  // Two landing vectors take turns, so that a partner who is one round ahead finds its slots free.
  const std::uint32_t landing = round % 2 * shape.blocks;

  if (shape.size == 1) return sink.copy(whole_input, whole_output);
  if (fold.is_left_out(me)) {
    if (folds) sink.send(fold.partner(me), whole_input);
    if (unfolds) sink.receive(fold.partner(me), whole_output);
  } else if (folds) {
    if (!fold.has_partner(me)) return;
    sink.copy(whole_input, whole_output);
    accumulate(sink, me, fold.partner(me), scratch(landing, shape.blocks), whole_output);
  } else if (unfolds) {
    if (fold.has_partner(me)) sink.send(fold.partner(me), whole_output);
  } else {
    const std::uint32_t core_round = round - (fold.is_needed() ? 1 : 0);
    const std::uint32_t halvings = fold.core_rounds();
    if (core_round < halvings) return halve(sink, fold, me, core_round, landing);
    widen(sink, fold, me, 2 * halvings - 1 - core_round);
  }
}

std::uint32_t Rabenseifner::scratch_blocks(const Shape& shape, Rank me) const {
  return shape.size == 1 || fold_of(shape).is_left_out(me) ? 0 : 2 * shape.blocks;
}

}  // namespace stretto::schedule
