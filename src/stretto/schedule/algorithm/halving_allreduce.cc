#include "stretto/schedule/algorithm/halving_allreduce.h"

#include <algorithm>

#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Fold fold_of(const Shape& shape) { return {shape.size, Fold::Pairing::neighbour}; }

/// The rounds of the core, for one of its ranks.
class Core {
 public:
  Core(const Fold& fold, Rank me, std::uint32_t halvings, std::uint32_t blocks)
      : fold_(fold), me_(me), halvings_(halvings), blocks_(blocks) {}

  /// Exchanges with the partner of round `k` what it keeps of what both hold, and combines what `me` keeps: a half
  /// each, or all of it once the vector has been halved often enough.
  void combine(Sink& sink, std::uint32_t k, std::uint32_t landing) const {
    const Rank peer = fold_.rank_at(partner(k));
    const std::uint32_t cuts = std::min(k + 1, halvings_);
    const BlockRef kept = held(fold_.place(me_), cuts, Buffer::output);
    const bool is_first = k == 0 && !fold_.has_partner(me_);
    sink.send(peer, held(partner(k), cuts, is_first ? Buffer::input : Buffer::output));
    if (is_first) sink.copy({Buffer::input, kept.first, kept.count}, kept);
    accumulate(sink, me_, peer, scratch(landing + kept.first, kept.count), kept);
  }

  /// The way back: each gives the partner of round `k` all that it holds.
  void widen(Sink& sink, std::uint32_t k) const {
    exchange(sink, fold_.rank_at(partner(k)), held(fold_.place(me_), k + 1, Buffer::output),
             held(partner(k), k + 1, Buffer::output));
  }

 private:
  Rank partner(std::uint32_t k) const { return fold_.place(me_) ^ (Rank{1} << k); }

  /// The blocks that `place` holds when the vector has been halved `cuts` times.
  BlockRef held(Rank place, std::uint32_t cuts, Buffer buffer) const {
    std::uint32_t first = 0;
    for (std::uint32_t k = 0; k < cuts; ++k) {
      if ((place >> k & 1U) != 0) first += blocks_ >> (k + 1);
    }
    return {buffer, first, blocks_ >> cuts};
  }

  const Fold& fold_;
  Rank me_;
  std::uint32_t halvings_;
  std::uint32_t blocks_;  // of the vector
};

}  // namespace

std::string_view HalvingAllreduce::source() const noexcept {
  return halvings_ == all ? "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in "
                            "MPICH\", IJHPCA 19(1), 2005, on all-reduce"
                          : "Chan, Heimlich, Purkayastha and van de Geijn, \"Collective communication: theory, "
                            "practice, and experience\", CCPE 19(13), 2007, on hybrid algorithms";
}

std::uint32_t HalvingAllreduce::halvings(const Shape& shape) const noexcept {
  const std::uint32_t core_rounds = fold_of(shape).core_rounds();
  return halvings_ == all ? core_rounds : std::min(halvings_, std::max(core_rounds, 1U) - 1);
}

Blocking HalvingAllreduce::blocking(const Shape& shape) const { return {.unit = 1U << halvings(shape)}; }

bool HalvingAllreduce::is_canonical(const Shape& shape) const { return fold_of(shape).is_aligned(); }

std::uint32_t HalvingAllreduce::rounds(const Shape& shape) const {
  const Fold fold = fold_of(shape);
  if (shape.size == 1) return 1;  // the local copy
  return fold.core_rounds() + halvings(shape) + (fold.is_needed() ? 2 : 0);
}

void HalvingAllreduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
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
    const Core core(fold, me, halvings(shape), shape.blocks);
    const std::uint32_t k = round - (fold.is_needed() ? 1 : 0);
    if (k < fold.core_rounds()) return core.combine(sink, k, landing);
    core.widen(sink, fold.core_rounds() + halvings(shape) - 1 - k);
  }
}

std::uint32_t HalvingAllreduce::scratch_blocks(const Shape& shape, Rank me) const {
  return shape.size == 1 || fold_of(shape).is_left_out(me) ? 0 : 2 * shape.blocks;
}

}  // namespace stretto::schedule
