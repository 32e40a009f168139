#include "stretto/schedule/algorithm/recursive_halving_reduce_scatter.h"

#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Fold fold_of(const Shape& shape) { return {shape.size, Fold::Pairing::neighbour}; }

/// The blocks of the aligned run of `places` places around `place`.
BlockRef blocks_around(const Fold& fold, Rank place, Rank places) {
  const Rank first_place = place / places * places;
  const Rank first = fold.rank_at(first_place);
  return input(first, fold.rank_at(first_place + places) - first);
}

/// Exchanges halves of what is held with the partner at `distance`. What is kept gathers in the slots of its blocks;
/// until `has_partial`, the input is what is held.
void halve(Sink& sink, const Fold& fold, Rank me, Rank distance, bool has_partial, std::uint32_t landing) {
  const Rank partner = fold.place(me) ^ distance;
  const Rank peer = fold.rank_at(partner);
  const BlockRef given = blocks_around(fold, partner, distance);
  const BlockRef kept = blocks_around(fold, fold.place(me), distance);
  const BlockRef sum = scratch(kept.first, kept.count);
  if (has_partial) {
    sink.send(peer, scratch(given.first, given.count));
    accumulate(sink, me, peer, scratch(landing + kept.first, kept.count), sum);
  } else {
    sink.send(peer, given);
    accumulate_own(sink, me, peer, sum, kept);
  }
}

}  // namespace

std::string_view RecursiveHalvingReduceScatter::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on reduce-scatter";
}

std::uint32_t RecursiveHalvingReduceScatter::rounds(const Shape& shape) const {
  const Fold fold = fold_of(shape);
  if (shape.size == 1) return 1;  // the local copy
  return fold.core_rounds() + (fold.is_needed() ? 2 : 0);
}

void RecursiveHalvingReduceScatter::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Fold fold = fold_of(shape);
  const bool folds = fold.is_needed() && round == 0;
  const bool unfolds = fold.is_needed() && round + 1 == rounds(shape);
  const BlockRef all = input(0, shape.size);

  if (shape.size == 1) return sink.copy(input(), output());
  if (fold.is_left_out(me)) {
    if (folds) sink.send(fold.partner(me), all);
    if (unfolds) sink.receive(fold.partner(me), output());
  } else if (folds) {
    if (fold.has_partner(me)) accumulate_own(sink, me, fold.partner(me), scratch(0, shape.size), all);
  } else if (unfolds) {
    if (fold.has_partner(me)) sink.send(fold.partner(me), scratch(fold.partner(me)));
  } else {
    const std::uint32_t k = round - (fold.is_needed() ? 1 : 0);
    const Rank distance = fold.core_size() >> (k + 1);
    // Two landing vectors take turns, so that a partner who is one round ahead finds its slots free.
    halve(sink, fold, me, distance, k > 0 || fold.has_partner(me), (1 + round % 2) * shape.size);
    if (distance == 1) sink.copy(scratch(me), output());
  }
}

std::uint32_t RecursiveHalvingReduceScatter::scratch_blocks(const Shape& shape, Rank me) const {
  return shape.size == 1 || fold_of(shape).is_left_out(me) ? 0 : 3 * shape.size;
}

}  // namespace stretto::schedule
