#include "stretto/collective/stream.h"

#include <algorithm>
#include <bit>

#include "stretto/collective/meeting.h"
#include "stretto/collective/operation.h"

namespace stretto {

void Stream::add_room(std::uint32_t calls) {
  open_.make_room(calls);
  const std::size_t past = std::bit_ceil(std::min<std::size_t>(calls_ % most_past + calls, most_past));
  if (past > past_.size()) past_.resize(past);
}

void Stream::put_off(std::uint32_t sequence, std::uint32_t calls) noexcept {
  for (; calls > 0; --calls) open_.find_or_add(sequence++).is_put_off = true;
}

void Stream::pass_by(Meeting& meeting, std::uint32_t end) {
  fabric::Item* released = nullptr;
  meeting.pass(end, released);
  CollectiveOperation::release(released);
}

// The next call may be in the middle of an inline run, for which there has to be room when it is taken over.
void Stream::save(std::uint32_t sequence, const fabric::Message& message) {
  if (sequence != calls_) open_.make_room(2);
  open_.find_or_add(sequence).early.add(message);
}

const Stream::Past* Stream::past(std::uint32_t sequence) const noexcept {
  const std::size_t place = sequence % most_past;
  return place < past_.size() && past_[place].sequence == sequence ? &past_[place] : nullptr;
}

SavedMessages Stream::take_messages_of(NodeId peer, std::uint32_t sequence) {
  Call* const call = open_.find(sequence);
  return call == nullptr ? SavedMessages() : call->early.take_from(peer);
}

void Stream::forget_messages_of(NodeId peer) {
  open_.for_each([&](Call& call) { call.early.take_from(peer); });
}

}  // namespace stretto
