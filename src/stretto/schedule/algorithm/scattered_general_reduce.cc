#include "stretto/schedule/algorithm/scattered_general_reduce.h"

#include "stretto/schedule/algorithm/rank_order.h"
#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

Rank receivers(const Shape& shape) { return shape.inner_receivers + (shape.size - shape.contributors); }

Rank receiver(const Shape& shape, Rank number) {
  return number < shape.inner_receivers ? number : shape.contributors + (number - shape.inner_receivers);
}

/// Combines block `me` of all inputs into `result`.
void reduce_scatter(Sink& sink, const Shape& shape, Rank me, BlockRef result) {
  for (Rank distance = 1; distance < shape.contributors; ++distance) {
    const Rank peer = after(me, distance, shape.contributors);
    sink.send(peer, input(peer));
  }
  combine_in_rank_order(sink, shape, me, me, result);
}

/// Gives `result` to all receivers, beginning with different ones.
void give(Sink& sink, const Shape& shape, Rank me, BlockRef result) {
  const Rank count = receivers(shape);
  for (Rank i = 0; i < count; ++i) {
    const Rank peer = receiver(shape, after(me % count, i, count));
    if (peer != me) sink.send(peer, result);
  }
}

void take(Sink& sink, const Shape& shape, Rank me) {
  for (Rank i = 0; i < shape.contributors; ++i) {
    const Rank peer = before(me % shape.contributors, i, shape.contributors);
    if (peer != me) sink.receive(peer, output(peer));
  }
}

}  // namespace

std::string_view ScatteredGeneralReduce::source() const noexcept {
  return "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 3.2, in blocks";
}

void ScatteredGeneralReduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const bool contributes = me < shape.contributors;
  const bool receives = is_receiver(shape, me);
  const BlockRef result = receives ? output(me) : scratch(me);
  if (round == 0) {
    if (contributes) reduce_scatter(sink, shape, me, result);
    return;
  }
  if (contributes) give(sink, shape, me, result);
  if (receives) take(sink, shape, me);
}

std::uint32_t ScatteredGeneralReduce::scratch_blocks(const Shape& shape, Rank me) const {
  return me < shape.contributors ? rank_order_scratch(shape, shape.contributors) : 0;
}

}  // namespace stretto::schedule
