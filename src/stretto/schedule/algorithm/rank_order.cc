#include "stretto/schedule/algorithm/rank_order.h"

#include <vector>

namespace stretto::schedule {
namespace {

/// The partial results of a rank that takes the others' inputs in order.
class Partials {
 public:
  Partials(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result)
      : sink_(sink), shape_(shape), vector_(vector_blocks(shape)), me_(me), block_(block), result_(result) {}

  void join(Rank rank) {
    const bool begins = shape_.reproducible ? rank % 2 == 0 : rank == 0;
    if (rank == me_) {
      join_own(begins);
    } else if (begins) {
      begin();
      sink_.receive(rank, partials_.back());
    } else {
      const BlockRef landing = slot(rank_order_partials(shape_) + (shape_.reproducible ? rank / 2 : rank) % 2);
      sink_.receive(rank, landing);
      sink_.reduce(landing, partials_.back(), Order::destination_first);
    }
    if (begins || !shape_.reproducible) return;
    for (Rank pairs = (rank + 1) / 2; pairs % 2 == 0; pairs /= 2) combine_last_two();
  }

  void combine_rest() {
    while (partials_.size() > 1) combine_last_two();
  }

 private:
  BlockRef slot(std::uint32_t number) const { return scratch(vector_ * number + block_); }
  void begin() { partials_.push_back(slot(static_cast<std::uint32_t>(partials_.size()))); }

  void join_own(bool begins) {
    const BlockRef mine = input(block_);
    const bool gathers_there = result_.buffer == Buffer::output;
    if (begins) {
      begin();
      if (gathers_there) partials_.back() = result_;
      sink_.copy(mine, partials_.back());
    } else if (gathers_there) {
      sink_.copy(mine, result_);
      sink_.reduce(partials_.back(), result_, Order::source_first);
      partials_.back() = result_;
    } else {
      sink_.reduce(mine, partials_.back(), Order::destination_first);
    }
  }

  void combine_last_two() {
    const BlockRef right = partials_.back();
    partials_.pop_back();
    BlockRef& left = partials_.back();
    if (right.buffer == Buffer::output) {
      sink_.reduce(left, right, Order::source_first);
      left = right;
    } else {
      sink_.reduce(right, left, Order::destination_first);
    }
  }

  Sink& sink_;
  const Shape& shape_;
  std::uint32_t vector_;
  Rank me_;
  std::uint32_t block_;
  BlockRef result_;
  std::vector<BlockRef> partials_;
};

}  // namespace

void combine_in_rank_order(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result) {
  Partials partials(sink, shape, me, block, result);
  for (Rank rank = 0; rank < contributing_ranks(shape); ++rank) partials.join(rank);
  partials.combine_rest();
}

}  // namespace stretto::schedule
