#include "stretto/schedule/algorithm/canonical_order.h"

#include <vector>

namespace stretto::schedule {
namespace {

/// The partial results of a rank that takes the others' inputs in order.
class Partials {
 public:
  Partials(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result)
      : sink_(sink),
        vector_(vector_blocks(shape)),
        terms_(contributing_ranks(shape)),
        me_(me),
        block_(block),
        result_(result) {}

  void join(Rank rank) {
    const bool begins_pair = rank % 2 == 0;
    if (rank == me_) {
      join_own(begins_pair);
    } else if (begins_pair) {
      partials_.push_back(slot(static_cast<std::uint32_t>(partials_.size())));
      sink_.receive(rank, partials_.back());
    } else {
      const BlockRef landing = slot(doublings(terms_) + rank / 2 % 2);
      sink_.receive(rank, landing);
      sink_.reduce(landing, partials_.back(), Order::destination_first);
    }
    for (Rank joined = (rank + 1) / 2; !begins_pair && joined % 2 == 0; joined /= 2) combine_last_two();
  }

  void combine_rest() {
    while (partials_.size() > 1) combine_last_two();
  }

 private:
  // Slot vector 0 may have the result.
  BlockRef slot(std::uint32_t number) const { return scratch(vector_ * (1 + number) + block_); }

  void join_own(bool begins_pair) {
    sink_.copy(input(block_), result_);
    if (begins_pair) {
      partials_.push_back(result_);
    } else {
      sink_.reduce(partials_.back(), result_, Order::source_first);
      partials_.back() = result_;
    }
  }

  void combine_last_two() {
    const BlockRef right = partials_.back();
    partials_.pop_back();
    BlockRef& left = partials_.back();
    if (right == result_) {
      sink_.reduce(left, right, Order::source_first);
      left = right;
    } else {
      sink_.reduce(right, left, Order::destination_first);
    }
  }

  Sink& sink_;
  std::uint32_t vector_;
  Rank terms_;
  Rank me_;
  std::uint32_t block_;
  BlockRef result_;
  std::vector<BlockRef> partials_;
};

}  // namespace

void combine_canonically(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result) {
  Partials partials(sink, shape, me, block, result);
  for (Rank rank = 0; rank < contributing_ranks(shape); ++rank) partials.join(rank);
  partials.combine_rest();
}

}  // namespace stretto::schedule
