// The part of HostTransport that moves data; host_transport.cc has the part that meets and loses peers.

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "stretto/base/finish_look.h"
#include "stretto/fabric/cluster/host/host_transport.h"

namespace stretto::fabric::cluster {

namespace {

// How often a node that polls looks for news that only descriptors tell, deaths and goodbyes: a look costs as much as
// several messages, and reading the clock some part of one.
constexpr std::uint32_t passes_between_clocks = 256;
constexpr std::chrono::microseconds time_between_looks{1000};

// How many messages of one peer are handled before the others get their turn.
constexpr int messages_a_turn = 32;

template <class Header>
Header copy_header(ConstByteSpan bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  return header;
}

/// As long as what was received is handed on: whoever gets it may throw.
class Progressing {
 public:
  explicit Progressing(bool& progressing) noexcept : progressing_(progressing) { progressing_ = true; }
  Progressing(const Progressing&) = delete;
  Progressing& operator=(const Progressing&) = delete;
  ~Progressing() { progressing_ = false; }

 private:
  bool& progressing_;
};

}  // namespace

[[gnu::hot]] void HostTransport::send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  send_to(peer_of(to), static_cast<std::uint8_t>(type), header, payload);
}

std::shared_ptr<Multicast> HostTransport::multicast_to(std::span<const NodeId> peers) {
  std::vector<HostPeer*> list;
  list.reserve(peers.size());
  for (const NodeId peer : peers) list.push_back(&peer_of(peer));
  return multicasts_->to(std::move(list));
}

[[gnu::hot]] void HostTransport::send_to(HostPeer& peer, std::uint8_t kind, ConstByteSpan header,
                                         ConstByteSpan payload) {
  try {
    if (can_send(peer) && !peer.outbox->send(kind, header, payload)) note_waiting(peer);
  } catch (const std::bad_alloc&) {
    sink_.lose_later(peer.node, no_memory_for_message(peer.node));
  }
}

class HostTransport::HostWay final : public Way {
 public:
  HostWay(HostTransport& transport, HostPeer& peer, RequestCount& requests) noexcept
      : transport_(transport), peer_(peer), requests_(requests) {}

  [[gnu::hot]] void send(MessageType type, ConstByteSpan header, ConstByteSpan payload) override {
    requests_.add();
    const bool may_be_sent = peer_.standing == Standing::present && peer_.edge_made;
    if (may_be_sent && peer_.outbox->send_at_once(static_cast<std::uint8_t>(type), header, payload)) return;
    transport_.send_to(peer_, static_cast<std::uint8_t>(type), header, payload);
  }
  [[gnu::hot]] Received receive(const Awaited& awaited, MessageHandler& receiver) override {
    return transport_.receive_from(peer_, awaited, receiver);
  }

 private:
  HostTransport& transport_;
  HostPeer& peer_;
  RequestCount& requests_;
};

std::unique_ptr<Way> HostTransport::way_to(NodeId peer, RequestCount& requests) {
  return std::make_unique<HostWay>(*this, peer_of(peer), requests);
}

void HostTransport::put(NodeId to, Offset target, ConstByteSpan source, Notification notification,
                        Completion* completion) {
  HostPeer& peer = peer_of(to);
  if (!can_send(peer)) {  // as one that ended during the start, which is not reported yet
    if (completion != nullptr) sink_.complete_later(completion, true);
    return;
  }
  peer.outbox->put(target, source, notification, completion);
  note_waiting(peer);
}

void HostTransport::get(NodeId from, Offset source, ByteSpan destination, Completion* completion) {
  HostPeer& peer = peer_of(from);
  if (!can_send(peer)) {
    sink_.complete_later(completion, true);
    return;
  }
  if (!peer.outbox->get(source, destination, completion)) {
    const GetRequestHeader header{source, destination.size(), next_get_};
    peer.gets.emplace(next_get_++, PendingGet{destination, 0, completion});
    peer.outbox->send(static_cast<std::uint8_t>(OwnKind::get_request), bytes_of(header), {});
  }
  note_waiting(peer);
}

std::byte* HostTransport::peer_pointer(NodeId node, Offset offset, std::size_t bytes) noexcept {
  if (!options_.direct) return nullptr;
  const HostPeer& peer = peer_of(node);
  return peer.memory == nullptr ? nullptr : peer.memory->segment(offset, bytes);
}

bool HostTransport::is_read_by(NodeId node) const noexcept {
  const std::uint32_t place = peer_of(node).place;
  return shared_ != nullptr && (shared_->readers[place / 64].load(std::memory_order_relaxed) >> (place % 64) & 1U) != 0;
}

void HostTransport::read_private(NodeId from, Offset source, ByteSpan destination) {
  try {
    peer_of(from).card.private_memory().read(private_address(source), destination);
  } catch (const Error& error) {
    throw Error(error.code(), "node " + std::to_string(from) + ": " + error.message());
  }
}

// On first use: our rings get their memory, and the peer is told to read them. A peer for whose there is none is lost.
bool HostTransport::make_edge(HostPeer& peer) {
  const ControlLayout& layout = control_->layout();
  const ControlLayout& theirs = peer.memory->layout();
  try {
    peer.outbox->open({RingWriter(control_->make_ring(layout.short_ring_to(peer.place)), layout.short_lines,
                                  &peer.memory->consumed(theirs.counter_of_short(place_)), 1),
                       RingWriter(control_->make_ring(layout.ring_to(peer.place)), layout.ring_lines,
                                  &peer.memory->consumed(theirs.counter_of(place_)))});
  } catch (const Error& error) {
    sink_.lose_later(peer.node,
                     Error(error.code(), "node " + std::to_string(peer.node) + " of this host: " + error.message()));
    return false;
  }
  peer.memory->shared().senders[place_ / 64].fetch_or(std::uint64_t{1} << (place_ % 64), std::memory_order_release);
  peer.edge_made = true;
  return true;
}

[[gnu::hot]] bool HostTransport::progress() {
  if (control_ == nullptr || progressing_) return false;
  const Progressing guard(progressing_);
  bool happened = notice_senders();
  for (std::size_t i = 0; i < receiving_.size(); ++i) {
    if (receiving_[i]->has_message()) happened |= receive(*receiving_[i]);
  }
  if (!waiting_.empty()) happened |= drain_waiting();
  if (time_to_look()) happened |= look_around(0);
  if (!happened) finish_look();
  return happened;
}

Received HostTransport::receive_from(NodeId node, const Awaited& awaited, MessageHandler& receiver) {
  return receive_from(peer_of(node), awaited, receiver);
}

[[gnu::hot]] Received HostTransport::receive_from(HostPeer& peer, const Awaited& awaited, MessageHandler& receiver) {
  if (progressing_ || peer.standing != Standing::present) return Received::nothing;
  if (awaited.foreseen != nullptr && peer.reader.current().take(awaited)) {
    ++taken_;
    // Of several lines, claimed or not, the others would follow as they do now (decision 77).
    if (awaited.bytes <= RingLine::inline_bytes) peer.outbox->claim_next();
    give_back(peer);
    return Received::foreseen;
  }
  return receive_any(peer, awaited, receiver);
}

[[gnu::hot]] Received HostTransport::receive_any(HostPeer& peer, const Awaited& awaited, MessageHandler& receiver) {
  if (!is_noticed(peer)) [[unlikely]] {
    notice_senders();
    if (!is_noticed(peer)) return Received::nothing;
  }
  RingReader& reader = peer.reader.current();
  const bool is_for_one = reader.ready();
  if (!is_for_one && !peer.has_multicast()) {
    reader.found_nothing(awaited);
    return Received::nothing;
  }
  const Progressing guard(progressing_);
  const std::uint64_t before = taken_;
  if (is_for_one) {
    const DecodedLine line = take_line(peer, reader);
    if (line.state == LineState::message) {
      if (line.head.kind < first_own_kind) {
        receiver.on_message(message_of(peer, line.head));
      } else {
        handle_own(peer, line.head);
      }
    }
    give_back(peer);
  } else {
    take_multicast(peer, peer.ready_multicast(), [&](const Message& message) { receiver.on_message(message); });
  }
  return taken_ != before ? Received::something : Received::nothing;
}

bool HostTransport::time_to_look() {
  if (look_around_.load(std::memory_order_relaxed)) {
    look_around_.store(false, std::memory_order_relaxed);
    return true;
  }
  if (++passes_ < passes_between_clocks) return false;
  passes_ = 0;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < time_between_looks) return false;
  last_look_ = now;
  return true;
}

bool HostTransport::take_up_senders() {
  bool happened = false;
  for (std::size_t word = 0; word < sender_words_; ++word) {
    std::uint64_t news = shared_->senders[word].load(std::memory_order_acquire) & ~noticed_[word];
    noticed_[word] |= news;
    for (; news != 0; news &= news - 1) {
      const std::size_t place = word * 64 + static_cast<std::size_t>(std::countr_zero(news));
      // A peer's word: any bit may be set.
      if (place >= peers_.size() || peers_[place].memory == nullptr) continue;
      receiving_.push_back(&peers_[place]);
      happened = true;
    }
  }
  return happened;
}

// Returns whether anything had come.
[[gnu::hot]] bool HostTransport::receive(HostPeer& peer) {
  const std::uint64_t before = taken_;
  for (int i = 0; i < messages_a_turn && peer.standing == Standing::present; ++i) {
    const DecodedLine line = take_line(peer, peer.reader.current());
    if (line.state != LineState::message) break;
    handle(peer, line.head);
    give_back(peer);
  }
  // Backwards: one of them may go.
  for (std::size_t at = peer.multicasts.size(); at-- > 0;) {
    const auto deliver = [this](const Message& message) { sink_.on_message(message); };
    for (int i = 0; i < messages_a_turn && take_multicast(peer, at, deliver); ++i) {
    }
  }
  return taken_ != before;
}

// Of a message the bytes are in the buffer then.
inline DecodedLine HostTransport::take_line(HostPeer& peer, RingReader& reader) {
  const DecodedLine line = reader.take(buffer_.data());
  taken_ += static_cast<std::uint64_t>(line.state != LineState::empty);
  if (line.state == LineState::bad) blame(peer, line.head);
  return line;
}

void HostTransport::blame(HostPeer& peer, LineHead malformed) {
  const std::string_view why = fault_of(malformed);
  sink_.on_peer_lost(peer.node, fault(peer, "it sent a malformed message: " +
                                                std::string(why.empty() ? "one of its lines is of another" : why)));
}

// Hands on the next message of a ring that several read. False: none has come, or none comes after it. Nobody waits for
// what is given back here.
template <class Use>
bool HostTransport::take_multicast(HostPeer& peer, std::size_t at, const Use& use) {
  RingReader& reader = peer.multicasts[at].reader;
  if (peer.standing != Standing::present) return false;
  const DecodedLine line = take_line(peer, reader);
  if (line.state != LineState::message) return false;
  if (line.head.kind < first_own_kind) {
    use(message_of(peer, line.head));
    reader.give_back();
    return true;
  }
  reader.give_back_all();
  peer.multicasts.erase(peer.multicasts.begin() + static_cast<std::ptrdiff_t>(at));
  if (static_cast<OwnKind>(line.head.kind) != OwnKind::multicast_end) {
    sink_.on_peer_lost(peer.node, fault(peer, "it sent several peers what is for one"));
  }
  return false;
}

Message HostTransport::message_of(const HostPeer& peer, LineHead head) const noexcept {
  return {peer.node,
          static_cast<MessageType>(head.kind),
          {buffer_.data(), head.header_bytes},
          {buffer_.data() + head.header_bytes, head.payload_bytes}};
}

void HostTransport::handle(HostPeer& peer, LineHead head) {
  if (head.kind < first_own_kind) {
    sink_.on_message(message_of(peer, head));
  } else {
    handle_own(peer, head);
  }
}

void HostTransport::handle_own(HostPeer& peer, LineHead head) {
  const Message message = message_of(peer, head);
  const auto [header, payload] = std::pair(message.header, message.payload);
  switch (static_cast<OwnKind>(head.kind)) {
    case OwnKind::notification: sink_.on_notification(peer.node, copy_header<Notification>(header)); break;
    case OwnKind::put_piece: handle_put_piece(peer, header, payload); break;
    case OwnKind::get_request: handle_get_request(peer, header); break;
    case OwnKind::get_piece: handle_get_piece(peer, header, payload); break;
    case OwnKind::multicast_begin: handle_multicast_begin(peer, copy_header<MulticastHeader>(header)); break;
    case OwnKind::multicast_end:
      sink_.on_peer_lost(peer.node, fault(peer, "it sent one peer what is for several"));
      break;
    case OwnKind::other_ring: peer.reader.change(); break;
  }
}

void HostTransport::handle_put_piece(HostPeer& peer, ConstByteSpan header, ConstByteSpan payload) {
  const auto piece = copy_header<PutPieceHeader>(header);
  const std::optional<ByteSpan> window = sink_.window(peer.node, piece.target, piece.bytes);
  if (!window) return;
  if (piece.at > window->size() || payload.size() > window->size() - piece.at) {
    sink_.on_peer_lost(peer.node, fault(peer, "it sent a piece of a put that lies outside of the put"));
    return;
  }
  copy_bytes(window->data() + piece.at, payload);
  if (piece.at + payload.size() == window->size()) sink_.on_notification(peer.node, piece.notification);
}

void HostTransport::handle_get_request(HostPeer& peer, ConstByteSpan header) {
  const auto request = copy_header<GetRequestHeader>(header);
  const std::optional<ByteSpan> window = sink_.window(peer.node, request.source, request.bytes);
  if (!window) return;
  if (!can_send(peer)) return;
  peer.outbox->reply(request.id, *window);
  note_waiting(peer);
}

void HostTransport::handle_get_piece(HostPeer& peer, ConstByteSpan header, ConstByteSpan payload) {
  const auto piece = copy_header<GetPieceHeader>(header);
  const auto found = peer.gets.find(piece.id);
  if (found == peer.gets.end() || piece.at != found->second.received ||
      payload.size() > found->second.destination.size() - piece.at) {
    sink_.on_peer_lost(peer.node, fault(peer, "it answered a get that was not asked for"));
    return;
  }
  PendingGet& get = found->second;
  copy_bytes(get.destination.data() + piece.at, payload);
  get.received += payload.size();
  if (get.received < get.destination.size()) return;
  sink_.complete_later(get.completion, false);
  peer.gets.erase(found);
}

void HostTransport::handle_multicast_begin(HostPeer& peer, const MulticastHeader& header) {
  const auto is_that = [&](const MulticastReader& each) { return each.ring == header.ring; };
  if (header.ring >= multicast_rings || std::any_of(peer.multicasts.begin(), peer.multicasts.end(), is_that)) {
    sink_.on_peer_lost(peer.node, fault(peer, "it began a ring for several that it has not, or twice"));
    return;
  }
  const auto ring = static_cast<std::uint32_t>(header.ring);
  ConsumedCounter& consumed = control_->consumed(control_->layout().counter_of_multicast(peer.place, ring));
  RingLine* const lines = peer.memory->ring(peer.memory->layout().multicast_ring(ring));
  peer.multicasts.push_back({ring, RingReader(lines, peer.card.ring_lines, &consumed, header.position)});
  peer.multicasts.back().reader.give_back_all();
}

bool HostTransport::drain_waiting() {
  bool moved = false;
  for (HostPeer* const peer : waiting_) moved |= peer->outbox->advance();
  std::erase_if(waiting_, [](HostPeer* peer) {
    peer->waiting = !peer->outbox->empty();
    return !peer->waiting;
  });
  return moved;
}

// The look of someone who is about to sleep. After a fence, so that no writer can have missed that we are armed.
bool HostTransport::anything_to_do() {
  if (senders_unnoticed() || !ended_.empty()) return true;
  for (const HostPeer* const peer : receiving_) {
    if (peer->has_whole_message()) return true;
  }
  return std::any_of(waiting_.begin(), waiting_.end(), [](HostPeer* peer) { return peer->outbox->can_advance(); });
}

}  // namespace stretto::fabric::cluster
