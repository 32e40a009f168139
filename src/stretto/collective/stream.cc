#include "stretto/collective/stream.h"

#include <utility>

namespace stretto {

bool Stream::has_begun(std::uint32_t sequence) const {
  const bool is_before = static_cast<std::int32_t>(sequence - begun_) < 0;
  return is_before || begun_beyond_.contains(sequence);
}

void Stream::mark_begun_beyond(std::uint32_t sequence) {
  if (sequence == begun_) {
    ++begun_;
    while (!begun_beyond_.empty() && begun_beyond_.erase(begun_) == 1) ++begun_;
  } else {
    begun_beyond_.insert(sequence);
  }
}

void Stream::save(std::uint32_t sequence, const fabric::Message& message) {
  open_.find_or_add(sequence).early.add(message);
}

std::optional<std::uint32_t> Stream::digest_of_past(std::uint32_t sequence) const noexcept {
  const std::size_t place = sequence % most_past;
  if (place >= past_.size() || past_[place].sequence != sequence) return std::nullopt;
  return past_[place].digest;
}

SavedMessages Stream::take_messages_of(NodeId peer, std::uint32_t sequence) {
  Call* const call = open_.find(sequence);
  return call == nullptr ? SavedMessages() : call->early.take_from(peer);
}

void Stream::forget_messages_of(NodeId peer) {
  open_.for_each([&](Call& call) { call.early.take_from(peer); });
}

}  // namespace stretto
