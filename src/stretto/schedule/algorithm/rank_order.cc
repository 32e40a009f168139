#include "stretto/schedule/algorithm/rank_order.h"

namespace stretto::schedule {

void combine_in_rank_order(Sink& sink, const Shape& shape, Rank me, std::uint32_t block, BlockRef result) {
  const BlockRef mine = input(block);
  const BlockRef lower = scratch(block);
  const auto combine = [&](Rank rank, BlockRef sum) {
    const BlockRef landing = scratch(vector_blocks(shape) * (1 + rank % 2) + block);
    sink.receive(rank, landing);
    sink.reduce(landing, sum, Order::destination_first);
  };

  if (me > 0) sink.receive(0, lower);
  for (Rank rank = 1; rank < me; ++rank) combine(rank, lower);
  if (me == 0) {
    sink.copy(mine, result);
  } else if (result.buffer == Buffer::output) {
    sink.copy(mine, result);
    sink.reduce(lower, result, Order::source_first);
  } else {
    sink.reduce(mine, result, Order::destination_first);
  }
  for (Rank rank = me + 1; rank < contributing_ranks(shape); ++rank) combine(rank, result);
}

}  // namespace stretto::schedule
