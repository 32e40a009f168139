#include "stretto/schedule/algorithm/ring.h"

namespace stretto::schedule {

void Ring::send_partial(Sink& sink, std::uint32_t round) const {
  const Rank turn = round / segments_;
  const std::uint32_t block = segment(turn + 1, round);
  sink.send(after(me_, 1, size_), turn == 0 ? input(block) : scratch(block));
}

void Ring::receive_partial(Sink& sink, std::uint32_t round) const {
  sink.receive(before(me_, 1, size_), scratch(segment(round / segments_ + 2, round)));
}

void Ring::combine(Sink& sink, std::uint32_t round) const {
  const Rank owner_distance = round / segments_ + 2;
  const std::uint32_t block = segment(owner_distance, round);
  if (owner_distance == size_) {
    const BlockRef result = output(result_ + round % segments_);
    sink.copy(input(block), result);
    sink.reduce(scratch(block), result, Order::source_first);
  } else {
    sink.reduce(input(block), scratch(block), Order::destination_first);
  }
}

void Ring::send_result(Sink& sink, std::uint32_t round) const {
  sink.send(after(me_, 1, size_), output(segment(round / segments_, round)));
}

void Ring::receive_result(Sink& sink, std::uint32_t round) const {
  sink.receive(before(me_, 1, size_), output(segment(round / segments_ + 1, round)));
}

}  // namespace stretto::schedule
