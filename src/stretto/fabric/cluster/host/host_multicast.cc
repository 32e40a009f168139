#include "stretto/fabric/cluster/host/host_multicast.h"

#include <algorithm>
#include <exception>

namespace stretto::fabric::cluster {

std::shared_ptr<Multicast> MulticastRings::to(std::vector<HostPeer*> peers) {
  // Of those whose end came before their memory nothing is mapped.
  std::erase_if(peers, [](const HostPeer* peer) { return peer->memory == nullptr; });
  std::erase_if(known_, [](const auto& one) { return one.expired(); });
  for (const auto& one : known_) {
    std::shared_ptr<HostMulticast> known = one.lock();
    if (known->peers_ == peers) return known;
  }
  auto made = std::make_shared<HostMulticast>(*this, std::move(peers));
  known_.push_back(made);
  recent_[made_++ % recent_.size()] = made;
  return made;
}

// Gives it a ring that its peers read from now on, if there is one.
void MulticastRings::take(HostMulticast& user) noexcept {
  const auto free = std::find_if(rings_.begin(), rings_.end(), is_free);
  if (free == rings_.end()) {
    if (++refusals_ % refusals_between_looks == 0) call_back_who_rests();
    return;
  }
  try {
    if (!free->is_made) make(*free);
    begin(*free, user);
  } catch (const std::exception&) {
    free->is_retired = true;  // there is no memory for it
  }
}

// What takes memory comes first.
void MulticastRings::begin(Ring& ring, HostMulticast& user) {
  std::vector<HostPeer*> readers;
  std::vector<const ConsumedCounter*> counters;
  for (HostPeer* const peer : user.peers_) {
    if (peer->standing != Standing::present) continue;
    readers.push_back(peer);
    counters.push_back(&counter_of(*peer, ring));
  }
  ring.user = &user;
  user.ring_ = &ring;
  ring.has_sent = true;
  ring.readers = std::move(readers);
  ring.writer.set_readers(std::move(counters));
  for (HostPeer* const peer : ring.readers) tell_begin(*peer, ring);
}

// Whether that reader has not come to an end that tells it to read no further.
bool MulticastRings::reads_on(const HostPeer& peer, const Ring& ring) const noexcept {
  const bool has_end = ring.user == nullptr && !ring.is_to_end;
  return !has_end || counter_of(peer, ring).lines.load(std::memory_order_acquire) < ring.writer.position();
}

// Its readers have read to the end, and know that it is one: who has not would read on in what is others'.
bool MulticastRings::is_free(Ring& ring) {
  if (ring.is_to_end) try_to_end(ring);
  return ring.user == nullptr && !ring.is_to_end && !ring.is_retired && ring.writer.all_read();
}

// Nothing is written there any more.
void MulticastRings::retire(Ring& ring) noexcept {
  if (ring.user != nullptr) ring.user->ring_ = nullptr;
  ring.user = nullptr;
  ring.is_to_end = false;
  ring.is_retired = true;
}

void MulticastRings::give_back(Ring& ring) {
  ring.user = nullptr;
  ring.is_to_end = true;
  try_to_end(ring);
}

// Later, where there is no room.
void MulticastRings::try_to_end(Ring& ring) {
  ring.is_to_end = !write(ring, static_cast<std::uint8_t>(OwnKind::multicast_end), {}, {});
}

[[gnu::hot]] bool MulticastRings::write(Ring& ring, std::uint8_t kind, ConstByteSpan header,
                                        ConstByteSpan payload) noexcept {
  if (!ring.writer.try_write(kind, header, payload)) return false;
  PeerMemory::show_stores();
  for (HostPeer* const peer : ring.readers) peer->memory->ring_if_seen_armed();
  return true;
}

void MulticastRings::call_back_who_rests() {
  for (Ring& ring : rings_) {
    if (std::exchange(ring.has_sent, false) || ring.user == nullptr) continue;
    ring.user->ring_ = nullptr;
    give_back(ring);
  }
}

void MulticastRings::make(Ring& ring) {
  const ControlLayout& layout = control_.layout();
  ring.writer = RingWriter(control_.make_ring(layout.multicast_ring(number_of(ring))), layout.ring_lines);
  ring.is_made = true;
}

void MulticastRings::forget(const HostPeer& peer, bool may_read) noexcept {
  for (Ring& ring : rings_) {
    if (std::erase(ring.readers, &peer) == 0) continue;
    if (may_read && reads_on(peer, ring)) retire(ring);
    ring.writer.drop_reader(&counter_of(peer, ring));
  }
}

// In the peer's memory: how much it has read of that ring.
const ConsumedCounter& MulticastRings::counter_of(const HostPeer& peer, const Ring& ring) const noexcept {
  return peer.memory->consumed(peer.memory->layout().counter_of_multicast(place_, number_of(ring)));
}

void MulticastRings::tell_begin(HostPeer& peer, const Ring& ring) {
  const MulticastHeader header{number_of(ring), ring.writer.position()};
  send_to_one_(peer, static_cast<std::uint8_t>(OwnKind::multicast_begin), bytes_of(header), {});
}

void HostMulticast::send_otherwise(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) {
  if (ring_ == nullptr && std::exchange(has_sent_, true)) {
    rings_.take(*this);
    if (ring_ != nullptr && MulticastRings::write(*ring_, kind, header, payload)) return;
  }
  for (HostPeer* const peer : peers_) rings_.send_to_one_(*peer, kind, header, payload);
}

}  // namespace stretto::fabric::cluster
