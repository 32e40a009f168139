#include "stretto/fabric/cluster/network/network_transport.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <variant>

#include "stretto/fabric/cluster/network/address.h"
#include "stretto/fabric/cluster/network/handshake.h"
#include "stretto/fabric/cluster/network/incoming.h"
#include "stretto/fabric/cluster/network/outbox.h"

namespace stretto::fabric::cluster {
namespace {

enum class PeerState : std::uint8_t {
  unused,     ///< no connection yet
  connected,  ///< or about to be: frames are queued until the handshake is open
  left,       ///< said goodbye
  gone,       ///< lost: nothing is exchanged any more
};

}  // namespace

/// All about one peer. Lives as long as the transport.
struct NetworkTransport::Peer final : network::ConnectionOwner {
  Peer(NetworkTransport& transport, NodeId node)
      : owner(transport), id(node), out(*transport.carrier_, transport.sink_, *this), in(node, transport.sink_) {}

  void failed(const char* status) noexcept override { owner.failures_.push_back({this, status}); }

  std::string name() const { return "node " + std::to_string(id); }

  NetworkTransport& owner;
  NodeId id;
  PeerState state = PeerState::unused;
  network::Connection* connection = nullptr;
  std::optional<network::Handshake> handshake;  // since the first use
  network::Outbox out;
  network::Incoming in;
  std::uint64_t frames_in = 0;             // the frames that a goodbye counts
  std::optional<std::uint64_t> announced;  // by the peer's goodbye
  bool ended = false;                      // the other end has closed the connection, or it failed
  bool goodbye_sent = false;
  bool goodbye_answered = false;
};

NetworkTransport::NetworkTransport(NodeId self, TransportSink& sink, std::string_view network)
    : self_(self), sink_(sink), nonce_(network::random_nonce()), carrier_(network::make_carrier(network, *this)) {
  refusals_ = std::make_unique<network::Outbox>(*carrier_, sink, static_cast<network::ConnectionOwner&>(*this));
}

NetworkTransport::~NetworkTransport() {
  std::vector<network::Connection*> open = std::exchange(closing_, {});
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer == nullptr) continue;
    peer->state = PeerState::gone;
    peer->in.abandon();
    peer->out.abandon();
    if (peer->connection != nullptr) open.push_back(peer->connection);
  }
  by_connection_.clear();
  for (network::Connection* const connection : open) carrier_->close(connection);
  // What the carrier holds it gives back within a few calls, or, at the latest, when it ends.
  while (carrier_->progress()) {
  }
}

std::vector<std::byte> NetworkTransport::address() { return network::encode_address({nonce_, carrier_->address()}); }

void NetworkTransport::start(std::span<const NodeId> peers, AddressOf address_of) {
  address_of_ = std::move(address_of);
  carrier_->expect(peers.size());
  for (const NodeId peer : peers) {
    if (peer >= peers_.size()) peers_.resize(peer + std::size_t{1});
    peers_[peer] = std::make_unique<Peer>(*this, peer);
  }
}

// Connections.

NetworkTransport::Peer* NetworkTransport::reachable(NodeId peer) {
  Peer& to = *peers_[peer];
  if (leaving_) return nullptr;
  if (to.state == PeerState::unused) {
    try {
      connect(to);
      greet(to);
    } catch (const Error& error) {
      lose(to, error, &TransportSink::lose_later);
    }
  }
  return to.state == PeerState::connected ? &to : nullptr;
}

void NetworkTransport::connect_all() {
  for (NodeId peer = self_ + 1; peer < peers_.size(); ++peer) {
    if (peers_[peer] != nullptr) reachable(peer);
  }
}

bool NetworkTransport::all_connected() const {
  const auto connected = [](const std::unique_ptr<Peer>& peer) {
    return peer == nullptr || peer->state == PeerState::gone || (peer->handshake && peer->handshake->open());
  };
  return std::all_of(peers_.begin(), peers_.end(), connected) && flushed();
}

void NetworkTransport::connect(Peer& peer) {
  const network::Address address = network::decode_address(address_of_(peer.id));
  peer.handshake.emplace(self_, nonce_, peer.id, address.nonce);
  peer.connection = carrier_->connect(address.carrier, peer);
  peer.state = PeerState::connected;
  by_connection_[peer.connection] = &peer;
}

void NetworkTransport::greet(Peer& peer) { peer.out.control(peer.connection, peer.handshake->greeting()); }

void NetworkTransport::lose(Peer& peer, const Error& cause, Tell tell) {
  if (peer.state == PeerState::gone) return;
  const bool silent = leaving_ || peer.state == PeerState::left;
  // Before the sink hears: whatever it calls finds this peer gone.
  close(peer);
  if (!silent) (sink_.*tell)(peer.id, Error(cause.code(), peer.name() + ": " + cause.message()));
}

void NetworkTransport::close(Peer& peer) {
  const bool was_connected = std::exchange(peer.state, PeerState::gone) == PeerState::connected;
  if (peer.connection != nullptr) {
    // Should there be no room for the word, the other end finds out by the end of the connection, or a keep-alive.
    if (was_connected && !peer.ended) try_refuse(peer.connection);
    by_connection_.erase(peer.connection);
    closing_.push_back(std::exchange(peer.connection, nullptr));
  }
  peer.out.drop();
  peer.in.drop();
}

void NetworkTransport::try_refuse(network::Connection* connection) {
  network::FrameHeader header;
  network::encode(network::Refusal{}, header);
  carrier_->try_send(connection, header.span(), {});
}

void NetworkTransport::disconnect(NodeId peer) {
  if (peers_[peer]->state != PeerState::gone) close(*peers_[peer]);
}

// Operations.

void NetworkTransport::send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  Peer* const peer = reachable(to);
  if (peer == nullptr) return;
  try {
    peer->out.message(type, header, payload);
  } catch (const std::bad_alloc&) {
    sink_.lose_later(to, no_memory_for_message(to));
  }
}

void NetworkTransport::put(NodeId to, Offset target, ConstByteSpan source, Notification notification,
                           Completion* completion) {
  if (Peer* const peer = reachable(to)) {
    peer->out.put(target, source, notification, completion);
  } else if (completion != nullptr) {
    sink_.complete_later(completion, true);
  }
}

void NetworkTransport::get(NodeId from, Offset source, ByteSpan destination, Completion* completion) {
  if (Peer* const peer = reachable(from)) {
    peer->out.request(peer->in.get(source, destination, completion));
  } else {
    sink_.complete_later(completion, true);
  }
}

// What arrives.

ByteSpan NetworkTransport::place_for(network::Connection* from, ConstByteSpan header, std::size_t bytes) noexcept {
  const auto known = by_connection_.find(from);
  if (known == by_connection_.end() || leaving_) return {};
  Peer& peer = *known->second;
  if (peer.state != PeerState::connected || !peer.handshake->verified()) return {};
  try {
    const network::Frame frame = network::decode(header, bytes);
    if (const auto* const put = std::get_if<network::PutPiece>(&frame)) return peer.in.place_of(*put, bytes);
    if (const auto* const get = std::get_if<network::GetPiece>(&frame)) return peer.in.place_of(*get, bytes);
    return {};
  } catch (const Error&) {
    return {};  // a frame that can't be is told of when it is whole
  }
}

void NetworkTransport::on_frame(network::Connection* from, ConstByteSpan header, ConstByteSpan data) noexcept {
  const auto known = by_connection_.find(from);
  Peer* const peer = known == by_connection_.end() ? nullptr : known->second;
  try {
    const network::Frame frame = network::decode(header, data.size());
    if (peer == nullptr) {
      on_stranger(from, frame);
    } else {
      handle(*peer, frame, data);
    }
  } catch (const Error& error) {
    if (peer == nullptr) {
      ++strangers_;
    } else {
      lose(*peer, error);
    }
  }
}

void NetworkTransport::on_no_frame(network::Connection* from, const char* why) noexcept {
  const auto known = by_connection_.find(from);
  if (known == by_connection_.end()) {
    ++strangers_;
  } else {
    lose(*known->second, Error(ErrorCode::bad_input, std::string("what arrived is no frame: ") + why));
  }
}

/// What a verified peer's frame does.
struct NetworkTransport::FrameHandler {
  NetworkTransport& transport;
  Peer& peer;
  ConstByteSpan data;

  void operator()(const network::MessageFrame& frame) const {
    transport.sink_.on_message({peer.id, frame.type, frame.header, data});
  }
  void operator()(const network::PutPiece& frame) const { peer.in.put_piece(frame, data); }
  void operator()(const network::GetRequest& frame) const {
    const std::optional<ByteSpan> window = transport.sink_.window(peer.id, frame.source, frame.bytes);
    if (window) peer.out.answer(frame.id, *window);
  }
  void operator()(const network::GetPiece& frame) const { peer.in.get_piece(frame, data); }
  // Dealt with before.
  void operator()(const network::Greeting&) const {}
  void operator()(const network::Refusal&) const {}
  void operator()(const network::Goodbye&) const {}
  void operator()(const network::GoodbyeAnswer&) const {}
};

void NetworkTransport::handle(Peer& peer, const network::Frame& frame, ConstByteSpan data) {
  if (std::holds_alternative<network::Refusal>(frame)) {
    peer.ended = true;
    throw Error(ErrorCode::peer_lost, "it closed the connection: it has declared this node lost, or is leaving");
  }
  if (const auto* const greeting = std::get_if<network::Greeting>(&frame)) {
    greeted(peer, *greeting);
    return;
  }
  if (!peer.handshake->verified()) throw Error(ErrorCode::bad_input, "a frame came before its sender's greeting");
  if (std::holds_alternative<network::GoodbyeAnswer>(frame)) {
    if (!peer.goodbye_sent) throw Error(ErrorCode::bad_input, "an answer to a goodbye that was never said");
    peer.goodbye_answered = true;
    return;
  }
  if (peer.state == PeerState::left) throw Error(ErrorCode::bad_input, "a frame came after its sender's goodbye");
  if (const auto* const goodbye = std::get_if<network::Goodbye>(&frame)) {
    if (peer.announced) throw Error(ErrorCode::bad_input, "a second goodbye");
    peer.announced = goodbye->frames;
  } else {
    ++peer.frames_in;
    if (!leaving_) std::visit(FrameHandler{*this, peer, data}, frame);
  }
  look_for_end(peer);
}

void NetworkTransport::greeted(Peer& peer, const network::Greeting& greeting) {
  if (peer.handshake->receive(greeting)) greet(peer);
  if (peer.handshake->open() && peer.state == PeerState::connected) peer.out.open(peer.connection);
}

void NetworkTransport::look_for_end(Peer& peer) {
  if (peer.state != PeerState::connected || !peer.announced || peer.frames_in < *peer.announced) return;
  if (peer.frames_in > *peer.announced) throw Error(ErrorCode::bad_input, "more frames than its goodbye counts");
  peer.out.control(peer.connection, network::GoodbyeAnswer{});
  // The connection stays until the peer closes it, so that the answer is not cut off.
  peer.state = PeerState::left;
  peer.out.drop();
  peer.in.drop();
  if (!leaving_) sink_.on_peer_left(peer.id);
}

void NetworkTransport::on_stranger(network::Connection* from, const network::Frame& frame) {
  const auto* const greeting = std::get_if<network::Greeting>(&frame);
  if (from != nullptr && greeting != nullptr) {
    if (accept(from, *greeting)) return;
    // So that it does not wait for ever: a peer that was lost here, or that means another process.
    refusals_->control(from, network::Refusal{});
  }
  ++strangers_;
}

bool NetworkTransport::accept(network::Connection* from, const network::Greeting& greeting) {
  if (leaving_ || greeting.receiver != nonce_) return false;
  if (greeting.node >= peers_.size() || peers_[greeting.node] == nullptr) return false;
  Peer& peer = *peers_[greeting.node];
  if (peer.state != PeerState::unused) return false;
  try {
    // Carriers pair connections by the processes that they join: this gives `from` if it comes from the one whose
    // address that node published, so that no process can greet in another's name.
    connect(peer);
    if (peer.connection != from) {
      greet(peer);
      return false;
    }
    greeted(peer, greeting);
    return true;
  } catch (const Error& error) {
    lose(peer, error);
    return false;
  }
}

// Progress, and the end.

bool NetworkTransport::progress() {
  if (!address_of_) return false;  // nobody is known yet: what arrives waits
  const bool moved = carrier_->progress();
  const bool settled = settle();
  if (leaving_) say_goodbyes();
  return moved || settled;
}

bool NetworkTransport::settle() {
  bool any = false;
  while (!failures_.empty() || !closing_.empty()) {
    any = true;
    for (const Failure& failure : std::exchange(failures_, {})) {
      failure.peer->ended = true;
      lose(*failure.peer, Error(ErrorCode::peer_lost, "the connection failed: " + failure.status));
    }
    for (network::Connection* const connection : std::exchange(closing_, {})) carrier_->close(connection);
  }
  return any;
}

bool NetworkTransport::arm(Alarm alarm) { return failures_.empty() && closing_.empty() && carrier_->arm(alarm); }

bool NetworkTransport::flushed() const {
  const bool idle = std::all_of(peers_.begin(), peers_.end(),
                                [](const std::unique_ptr<Peer>& peer) { return peer == nullptr || peer->out.idle(); });
  return idle && carrier_->flush();
}

void NetworkTransport::leave() {
  leaving_ = true;
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer != nullptr) peer->in.drop();
  }
  say_goodbyes();
}

void NetworkTransport::say_goodbyes() {
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer == nullptr || peer->state != PeerState::connected || peer->goodbye_sent) continue;
    if (!peer->handshake->open() || !peer->out.idle()) continue;
    peer->goodbye_sent = true;
    peer->out.control(peer->connection, network::Goodbye{peer->out.frames()});
  }
}

bool NetworkTransport::left() const {
  const auto done = [](const std::unique_ptr<Peer>& peer) {
    return peer == nullptr || peer->state != PeerState::connected || peer->goodbye_answered;
  };
  return leaving_ && std::all_of(peers_.begin(), peers_.end(), done) && flushed();
}

std::vector<std::string> NetworkTransport::networks(NodeId peer) const {
  const Peer& to = *peers_[peer];
  return to.connection == nullptr ? std::vector<std::string>{} : carrier_->networks(to.connection);
}

}  // namespace stretto::fabric::cluster
