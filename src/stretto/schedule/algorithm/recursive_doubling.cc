#include "stretto/schedule/algorithm/recursive_doubling.h"

#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Fold fold_of(const Shape& shape) {
  return {shape.size, shape.commutative ? Fold::Pairing::distant : Fold::Pairing::neighbour};
}

}  // namespace

std::string_view RecursiveDoubling::source() const noexcept {
  return "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 2.1";
}

bool RecursiveDoubling::is_canonical(const Shape& shape) const { return fold_of(shape).is_aligned(); }

std::uint32_t RecursiveDoubling::rounds(const Shape& shape) const {
  const Fold fold = fold_of(shape);
  if (shape.size == 1) return 1;  // the local copy
  return fold.core_rounds() + (fold.is_needed() ? 2 : 0);
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
    const Rank partner = fold.rank_at(fold.place(me) ^ (Rank{1} << k));
    // What was not added to yet is as good where it comes from: its copy may be left to the reduce.
    sink.send(partner, k == 0 && !fold.has_partner(me) ? input() : output());
    // Two landing slots take turns, so that a partner who is one round ahead finds its slot free.
    accumulate(sink, me, partner, scratch(round % 2), output());
  }
}

std::uint32_t RecursiveDoubling::scratch_blocks(const Shape& shape, Rank me) const {
  return fold_of(shape).is_left_out(me) ? 0 : rounds(shape) > 1 ? 2 : shape.size - 1;
}

}  // namespace stretto::schedule
