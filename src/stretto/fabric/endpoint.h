#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/alarm.h"
#include "stretto/fabric/awaited.h"
#include "stretto/fabric/callbacks.h"
#include "stretto/fabric/context.h"
#include "stretto/fabric/message.h"
#include "stretto/fabric/multicast.h"
#include "stretto/fabric/offset.h"
#include "stretto/fabric/request_count.h"
#include "stretto/fabric/segment.h"
#include "stretto/fabric/way.h"

namespace stretto::fabric {

/// One node's door to the others: reliable, *unordered*, at most once, until a peer is declared lost. A notification
/// implies its own put, nothing else.
///
/// Owned by a Fabric. Every call is made under the node's baton (`context()`) unless it says "any thread".
/// Operations towards a lost peer are dropped; a Completion given with them fires with `lost` set.
class Endpoint {
 public:
  Endpoint(NodeId self, std::uint32_t size, Context& context, std::unique_ptr<Segment> segment);
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  NodeId self() const noexcept { return self_; }         ///< any thread
  std::uint32_t size() const noexcept { return size_; }  ///< nodes of the job; any thread
  Context& context() noexcept { return context_; }       ///< any thread
  Segment& segment() noexcept { return *segment_; }      ///< any thread
  const Segment& segment() const noexcept { return *segment_; }
  bool lost(NodeId peer) const { return lost_[peer]; }
  /// Whether it is lost, or has left in good order.
  bool gone(NodeId peer) const { return lost_[peer] || left_[peer]; }
  /// Of a lost peer: whether it may live on, and still touch memory of this node that it maps or reads. When it has
  /// heard of its loss, or has ended, observers are told (on_peer_ended).
  virtual bool may_linger(NodeId /*peer*/) const { return false; }
  /// How often peers in other processes were given something to do. Any thread.
  std::uint64_t requests() const noexcept { return requests_.value(); }

  /// Registers who handles messages of one type. Before messages can arrive; handlers outlive the endpoint's use.
  void set_handler(MessageType type, MessageHandler& handler);
  void add_observer(EndpointObserver& observer);

  /// An active message; header and payload are copied before the call returns. A node may send to itself.
  /// REQUIRES: header.size() <= max_header_bytes, header.size() + payload.size() <= max_message_bytes.
  virtual void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) = 0;

  /// By which the same message goes to several peers, none of them this node, in less time than to one after the other;
  /// null where there is no such way. For who does so often: each holds what is limited, until it is destroyed.
  virtual std::shared_ptr<Multicast> multicast_to(std::span<const NodeId> /*peers*/) { return nullptr; }
  /// One message to all of those; see `send`.
  virtual void send_to_all(Multicast& peers, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
    check_sizes(header, payload);
    peers.send(type, header, payload);
  }

  /// From now on peers that sleep may be woken later, by `end_burst`, for what is sent meanwhile: several messages then
  /// take less time. See Burst (burst.h).
  virtual void begin_burst() noexcept {}
  virtual void end_burst() noexcept {}

  /// Copies `source` to `target` in the segment of `to`, then notifies it. Bounds are checked by the target.
  /// `completion` (may be null) fires when `source` may be reused.
  virtual void put(NodeId to, Offset target, ConstByteSpan source, Notification notification,
                   Completion* completion) = 0;

  /// Copies `destination.size()` bytes from `source` in the segment of `from`; `completion` fires when they are
  /// there. REQUIRES: completion is not null.
  virtual void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) = 0;

  /// Whether peers' memory can be touched in place, by `peer_pointer`: then this node's can, by that peer. Any thread.
  virtual bool maps(NodeId peer) const = 0;
  /// Where [offset, offset + bytes) of a peer's segment is mapped in this address space, or null where it is not, or
  /// not all of it is backed by memory.
  virtual std::byte* peer_pointer(NodeId peer, Offset offset, std::size_t bytes) = 0;
  /// By which offset peers that are mapped reach `bytes` of memory of this node; none where they can't. It is all of
  /// this process's memory where they live in the same one, else the segment. Any thread.
  virtual std::optional<Offset> offset_for_peers(const void* address, std::size_t bytes) const;
  /// Whether this node reads memory of that peer that it does not map, and in less time than it takes to copy it to
  /// where it does; then the peer knows. And the other way round, which need not be the same. Any thread.
  virtual bool reads(NodeId /*peer*/) const noexcept { return false; }
  virtual bool is_read_by(NodeId /*peer*/) const noexcept { return false; }
  /// Copies what lies at `source`, a private_offset, in the process of `from`. Throws Error(peer_lost) if that is no
  /// more, Error(io) if that memory is not there, or not to be read. REQUIRES: reads(from).
  virtual void read_private(NodeId from, Offset source, ByteSpan destination);

  /// Makes progress; returns whether anything happened.
  virtual bool progress() = 0;
  /// Hands the next message of one peer to `receiver`, if that has come, and looks at nothing else: for who waits for
  /// it, and calls `progress` now and then, too. What is not for it, `receiver` gives to `deliver`. A message that was
  /// foreseen may be handed to nobody: its payload goes where it belongs.
  virtual Received receive_from(NodeId /*peer*/, const Awaited& /*awaited*/, MessageHandler& /*receiver*/) {
    return Received::nothing;
  }
  /// Whether `receive_from` ever finds what that peer sends. Any thread.
  virtual bool can_receive_from(NodeId /*peer*/) const { return false; }
  /// The way to a peer and back: as `send` and `receive_from`, without looking for what they look for each time.
  virtual std::unique_ptr<Way> way_to(NodeId peer);
  /// Hands a message that arrived to its handler; a message that is bad, or for which there is no memory, costs its
  /// sender the connection.
  void deliver(const Message& message) {
    if (lost_[message.from]) return;
    const auto index = static_cast<std::size_t>(message.type);
    answer_for(message.from, [&] {
      if (index >= message_types || handlers_[index] == nullptr) refuse_type(message);
      handlers_[index]->on_message(message);
    });
  }
  /// Runs what handles something that `from` sent, who answers for it: see `deliver`.
  template <class Handle>
  void answer_for(NodeId from, Handle&& handle) {
    try {
      handle();
    } catch (const Error& error) {
      lose(from, error);
    } catch (const std::bad_alloc&) {
      lose(from, no_memory_for(from));
    }
  }

  /// For a thread that wants to sleep: a descriptor that becomes readable when there may be something to do, or
  /// -1 where other threads of this process do all the work (`local`, `sim`). Any thread.
  virtual int descriptor() const { return -1; }
  /// Arms the descriptor. Returns false when there is something to do already, or somebody is at it: do not sleep. One
  /// thread at a time, which serves no context.
  virtual bool arm(Alarm /*alarm*/) { return true; }
  virtual void disarm() {}
  /// For a thread that looks after this endpoint for others, who compute, and is about to arm. Where large data are on
  /// their way over a network, gives that as much as it takes of what waits to leave, and has who sleeps with an alarm
  /// woken for those data only when much of them has come, up to the next progress; returns whether there are any. One
  /// thread at a time, which serves no context.
  virtual bool let_flow() { return false; }

  /// Declares a peer lost: closes the connection and tells the observers once.
  void lose(NodeId peer, const Error& cause);

 protected:
  /// Under the baton.
  void count_request() noexcept { requests_.add(); }
  RequestCount& request_count() noexcept { return requests_; }
  void notify(NodeId from, Notification notification);
  void note_left(NodeId peer);
  void note_ended(NodeId peer);
  /// Throws Error(invalid_argument) for what no fabric accepts.
  void check_send(NodeId to, ConstByteSpan header, ConstByteSpan payload) const {
    check_peer(to);
    check_sizes(header, payload);
  }
  void check_peer(NodeId peer) const {
    if (peer >= size_) refuse_peer(peer);
  }
  /// Closes the connection to a peer that is being declared lost.
  virtual void disconnect(NodeId /*peer*/) {}

 private:
  static void check_sizes(ConstByteSpan header, ConstByteSpan payload) {
    if (header.size() <= max_header_bytes && header.size() + payload.size() <= max_message_bytes) return;
    refuse_sizes(header.size(), payload.size());
  }
  [[noreturn]] static void refuse_type(const Message& message);
  static Error no_memory_for(NodeId from);
  [[noreturn]] void refuse_peer(NodeId peer) const;
  [[noreturn]] static void refuse_sizes(std::size_t header_bytes, std::size_t payload_bytes);

  NodeId self_;
  std::uint32_t size_;
  Context& context_;
  std::unique_ptr<Segment> segment_;
  std::vector<MessageHandler*> handlers_;
  std::vector<EndpointObserver*> observers_;
  std::vector<bool> lost_;
  std::vector<bool> left_;
  RequestCount requests_;
};

}  // namespace stretto::fabric
