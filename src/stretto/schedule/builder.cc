#include "stretto/schedule/builder.h"

namespace stretto::schedule {

void exchange(Sink& sink, Rank partner, BlockRef mine, BlockRef theirs) {
  sink.send(partner, mine);
  sink.receive(partner, theirs);
}

void accumulate(Sink& sink, Rank me, Rank peer, BlockRef landing, BlockRef accumulator) {
  sink.receive(peer, landing);
  sink.reduce(landing, accumulator, peer < me ? Order::source_first : Order::destination_first);
}

void accumulate_own(Sink& sink, Rank me, Rank peer, BlockRef accumulator, BlockRef mine) {
  sink.receive(peer, accumulator);
  sink.reduce(mine, accumulator, peer < me ? Order::destination_first : Order::source_first);
}

}  // namespace stretto::schedule
