#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/multicast.h"

namespace stretto::fabric::cluster {

/// Why a peer is lost for whose message there is no memory.
inline Error no_memory_for_message(NodeId peer) {
  return {ErrorCode::out_of_resources, "no memory for a message to node " + std::to_string(peer)};
}

/// What a transport tells its endpoint, always under the node's baton, from inside `Transport::progress` (and
/// `lose_later` from inside any other call, whose caller may be in the middle of its own books).
///
/// The endpoint may call back into the transport from inside each of these: a handler sends, and a message that its
/// handler refuses ends in `Transport::disconnect(from)`. So a transport takes what it is handing over off its own
/// books first, and looks again at its peer's state after each call.
class TransportSink {
 public:
  virtual ~TransportSink() = default;

  /// An active message arrived. The spans are memory that no peer can change any more, and valid during the call.
  virtual void on_message(const Message& message) = 0;

  /// The part [offset, offset + bytes) of this node's segment that `from` asks to write (put) or to read (get). Both
  /// numbers are a peer's word: any value. Where they leave the memory that was handed out, the peer is declared lost
  /// (bad_input) before the call returns, with nothing: the transport then does no more than return.
  virtual std::optional<ByteSpan> window(NodeId from, Offset offset, std::uint64_t bytes) = 0;

  /// Fires `completion` (not null) soon, never inside of this call: the only way in which transports complete.
  virtual void complete_later(Completion* completion, bool lost) = 0;

  /// A peer's put is complete: its bytes are in place.
  virtual void on_notification(NodeId from, Notification notification) = 0;

  /// The peer died, became unreachable or broke the protocol. Before it returns, the endpoint calls `disconnect`.
  /// Messages that arrived whole before the death are handed over first. Calls after the first are ignored.
  virtual void on_peer_lost(NodeId peer, const Error& cause) = 0;

  /// The peer is to be declared lost, by the endpoint's next `progress`. Operations towards it are dropped from now on.
  virtual void lose_later(NodeId peer, const Error& cause) = 0;

  /// The peer said goodbye in good order; all that it sent has been handed over. What follows from it (a closed
  /// connection) is silent. Operations towards it are dropped from now on.
  virtual void on_peer_left(NodeId peer) = 0;

  /// A peer that was disconnected, and lingered, touches this node's memory no more.
  virtual void on_peer_ended(NodeId peer) = 0;
};

/// What carries a ClusterEndpoint's operations to one class of peers: those of this host (host/) or of others
/// (network/).
///
/// Owned by the endpoint. Every call is made under the node's baton, `arm` too, unless it says "any thread"; none of
/// them but `start` blocks. The endpoint has checked arguments (peer exists and is one of this transport's,
/// sizes are allowed) and drops operations towards peers that are lost or have left before they come here; a Way asks
/// for itself.
/// Promises of fabric.h hold per transport: reliable, unordered, at most once, until the peer is lost.
class Transport {
 public:
  virtual ~Transport() = default;

  /// What peers need to reach this node; the endpoint publishes it through the bootstrap before `start`.
  virtual std::vector<std::byte> address() = 0;

  /// Learns who its peers are; called once, after every node has published. `address_of` fetches a peer's address and
  /// may be called here and later, under the baton (it may ask the launcher, so once per peer is enough).
  /// May wait for its peers, which all are in their own `start`. Errors that concern one peer go to `on_peer_lost`;
  /// throws Error for what makes this node useless.
  using AddressOf = std::function<std::vector<std::byte>(NodeId)>;
  virtual void start(std::span<const NodeId> peers, AddressOf address_of) = 0;

  /// See Endpoint. Header and payload are copied (or sent) before the call returns; what can't leave now waits in a
  /// queue of the transport until `progress` finds room. A peer for whose message there is no memory is lost.
  virtual void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) = 0;
  /// See Endpoint; all of the peers are this transport's. It goes before the transport does.
  virtual std::shared_ptr<Multicast> multicast_to(std::span<const NodeId> /*peers*/) { return nullptr; }
  /// See Endpoint.
  virtual void begin_burst() noexcept {}
  virtual void end_burst() noexcept {}
  /// `completion` may be null; it fires exactly once, through `TransportSink::complete_later`, with `lost` when the
  /// peer is lost (or has left) first.
  virtual void put(NodeId to, Offset target, ConstByteSpan source, Notification notification,
                   Completion* completion) = 0;
  virtual void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) = 0;

  /// See Endpoint. Any thread.
  virtual bool maps() const noexcept { return false; }
  /// See Endpoint. To the sink goes only what is no message.
  virtual Received receive_from(NodeId /*peer*/, const Awaited& /*awaited*/, MessageHandler& /*receiver*/) {
    return Received::nothing;
  }
  /// See Endpoint; null where there is no shorter one. `requests` counts what is sent by it.
  virtual std::unique_ptr<Way> way_to(NodeId /*peer*/, RequestCount& /*requests*/) { return nullptr; }
  /// See Endpoint. Any thread.
  virtual bool can_receive_from() const noexcept { return false; }
  virtual std::byte* peer_pointer(NodeId /*peer*/, Offset /*offset*/, std::size_t /*bytes*/) noexcept {
    return nullptr;
  }
  /// See Endpoint. Any thread.
  virtual bool reads(NodeId /*peer*/) const noexcept { return false; }
  virtual bool is_read_by(NodeId /*peer*/) const noexcept { return false; }
  /// See Endpoint. REQUIRES: reads(from).
  virtual void read_private(NodeId /*from*/, Offset /*source*/, ByteSpan /*destination*/) {}

  /// Moves what can be moved; returns whether anything happened. Cheap when nothing did: it is called in a spin loop.
  virtual bool progress() = 0;

  /// Becomes readable when `progress` may have something to do, provided that `arm` returned true. The endpoint
  /// watches it (level-triggered) beside the other transport's. Valid from construction to destruction.
  virtual int descriptor() const = 0;
  /// Prepares for sleep. False when there is something to do already (then it is not armed): call `progress` first.
  virtual bool arm(Alarm alarm) = 0;
  /// The endpoint is awake again: nobody needs to ring. Called after every `arm` that returned true. Any thread.
  virtual void disarm() = 0;

  /// See Endpoint.
  virtual bool let_flow() { return false; }

  /// Whether this transport notices the death of its peers by itself, and after their last messages; otherwise the
  /// launcher's word for a death counts, too.
  virtual bool sees_death() const { return false; }

  /// Forgets a lost peer: drops what is queued for it, fires its pending completions with `lost`, hands over nothing
  /// more from it. Its memory stays mapped: operations may be touching it. May be called from inside a sink's call.
  virtual void disconnect(NodeId peer) = 0;

  /// See Endpoint.
  virtual bool may_linger(NodeId /*peer*/) const { return false; }

  /// Whether all that was sent has left this process (into memory that outlives it, or into the kernel), so that
  /// closing loses nothing.
  virtual bool flushed() const = 0;
  /// Says goodbye to all peers and lets go, after which only `left` and `progress` are called.
  virtual void leave() = 0;
  /// Whether `leave` is done, so that destruction disturbs no peer.
  virtual bool left() const { return true; }
};

}  // namespace stretto::fabric::cluster
