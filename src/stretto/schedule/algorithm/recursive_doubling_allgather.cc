#include "stretto/schedule/algorithm/recursive_doubling_allgather.h"

#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Fold fold_of(const Shape& shape) { return {shape.size, Fold::Pairing::neighbour}; }

/// The blocks of the aligned run of 2^k places around `place`.
BlockRef blocks_around(const Fold& fold, Rank place, std::uint32_t k) {
  const Rank first_place = place >> k << k;
  const Rank first = fold.rank_at(first_place);
  return output(first, fold.rank_at(first_place + (Rank{1} << k)) - first);
}

}  // namespace

std::string_view RecursiveDoublingAllgather::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on allgather";
}

std::uint32_t RecursiveDoublingAllgather::rounds(const Shape& shape) const {
  const Fold fold = fold_of(shape);
  if (shape.size == 1) return 1;  // the local copy
  return fold.core_rounds() + (fold.is_needed() ? 2 : 0);
}

void RecursiveDoublingAllgather::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Fold fold = fold_of(shape);
  const bool folds = fold.is_needed() && round == 0;
  const bool unfolds = fold.is_needed() && round + 1 == rounds(shape);

  if (fold.is_left_out(me)) {
    if (folds) sink.send(fold.partner(me), input());
    if (unfolds) sink.receive(fold.partner(me), output(0, shape.size));
    return;
  }
  if (round == 0) sink.copy(input(), output(me));
  if (folds) {
    if (fold.has_partner(me)) sink.receive(fold.partner(me), output(fold.partner(me)));
  } else if (unfolds) {
    if (fold.has_partner(me)) sink.send(fold.partner(me), output(0, shape.size));
  } else if (shape.size > 1) {
    const std::uint32_t k = round - (fold.is_needed() ? 1 : 0);
    const Rank place = fold.place(me);
    const Rank partner = place ^ (Rank{1} << k);
    exchange(sink, fold.rank_at(partner), blocks_around(fold, place, k), blocks_around(fold, partner, k));
  }
}

std::uint32_t RecursiveDoublingAllgather::scratch_blocks(const Shape&, Rank) const { return 0; }

}  // namespace stretto::schedule
