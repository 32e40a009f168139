#include "stretto/fabric/cluster/host/host_multicast.h"

#include <algorithm>

#include "stretto/base/error.h"

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
  return made;
}

// A ring that the user's peers read from now on. Null: there is none now.
MulticastRings::Ring* MulticastRings::take(HostMulticast& user) {
  const auto free = std::find_if(rings_.begin(), rings_.end(), is_free);
  if (free == rings_.end()) {
    if (++refusals_ % refusals_between_looks == 0) call_back_who_rests();
    return nullptr;
  }
  Ring& ring = *free;
  if (!ring.is_made && !make(ring)) return nullptr;
  ring.user = &user;
  ring.has_sent = true;
  ring.readers = user.peers_;
  ring.writer.drop_readers();
  for (HostPeer* const peer : ring.readers) {
    if (peer->standing != Standing::present) continue;
    ring.writer.add_reader(&counter_of(*peer, ring));
    tell_begin(*peer, ring);
  }
  return &ring;
}

// Its readers have read to the end, and know that it is one: who has not would read on in what is others'.
bool MulticastRings::is_free(Ring& ring) {
  if (ring.is_to_end) try_to_end(ring);
  return ring.user == nullptr && !ring.is_to_end && ring.writer.all_read();
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

bool MulticastRings::write(Ring& ring, std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
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

// Where there is no memory for it, messages go to one after the other.
bool MulticastRings::make(Ring& ring) noexcept {
  const ControlLayout& layout = control_.layout();
  try {
    ring.writer = RingWriter(control_.make_ring(layout.multicast_ring(number_of(ring))), layout.ring_lines);
    ring.is_made = true;
  } catch (const Error&) {
    return false;
  }
  return true;
}

void MulticastRings::forget(const HostPeer& peer) noexcept {
  if (peer.memory == nullptr) return;
  for (Ring& ring : rings_) {
    ring.writer.drop_reader(&counter_of(peer, ring));
    std::erase(ring.readers, &peer);
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
    ring_ = rings_.take(*this);
    if (ring_ != nullptr && MulticastRings::write(*ring_, kind, header, payload)) return;
  }
  for (HostPeer* const peer : peers_) rings_.send_to_one_(*peer, kind, header, payload);
}

}  // namespace stretto::fabric::cluster
