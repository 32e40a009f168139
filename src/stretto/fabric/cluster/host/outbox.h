#pragma once

#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "stretto/base/shared_copy.h"
#include "stretto/fabric/cluster/host/bells.h"
#include "stretto/fabric/cluster/host/control.h"
#include "stretto/fabric/cluster/host/edge.h"
#include "stretto/fabric/cluster/transport.h"

namespace stretto::fabric::cluster {

/// What leaves for one peer of the host: the edge to it, and a queue of what found no room or is too much for one go.
///
/// Large copies go in pieces of at most `copy_piece_bytes` a step, so that no step keeps the node's baton long. Owned
/// by the HostTransport; used under the node's baton. Steps never block, and a send waits a microsecond for room at
/// most; the queue is bounded by memory alone.
class Outbox {
 public:
  static constexpr std::size_t copy_piece_bytes = 64 * 1024;
  static constexpr std::size_t message_piece_bytes = 8 * 1024;

  /// `direct`: puts and gets copy to and from the peer's segment, as far as that is backed by memory; otherwise, and
  /// beyond, their bytes go through rings, and the peer judges the range.
  Outbox(PeerMemory& peer, Bells& bells, TransportSink& sink, bool direct) noexcept
      : peer_(peer), bells_(bells), sink_(sink), direct_(direct) {}

  /// Where the edge begins: called once, before anything else.
  void open(EdgeWriter writer) { writer_ = std::move(writer); }

  /// Returns whether it is on its way, as it mostly is. In line, since small messages are little more.
  bool send_at_once(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
    if (!queue_.empty() || !writer_.try_write_at_once(kind, header, payload)) return false;
    bells_.ring(peer_);
    return true;
  }
  /// Returns whether it is on its way; otherwise it waits here.
  bool send(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) {
    if (queue_.empty() && writer_.try_write_soon(kind, header, payload)) {
      bells_.ring(peer_);
      return true;
    }
    enqueue(kind, header, payload);
    return false;
  }
  /// Something is likely to leave for the peer soon, as an answer to what has come (see RingWriter::claim_next).
  void claim_next() noexcept { writer_.claim_next(); }
  void put(Offset target, ConstByteSpan source, Notification notification, Completion* completion);
  /// Copies from the peer's segment if that is possible; returns false when the bytes must be asked for.
  bool get(Offset source, ByteSpan destination, Completion* completion);
  /// Answers a get of the peer: `source` is in this node's segment.
  void reply(std::uint64_t id, ConstByteSpan source);

  bool empty() const noexcept { return queue_.empty(); }
  /// Moves some of what waits; returns whether anything moved.
  bool advance();
  /// Whether `advance` would move anything.
  bool can_advance() noexcept;
  /// Forgets what waits; completions fire with `lost`.
  void drop();

 private:
  struct Message {
    std::uint8_t kind;
    std::size_t header_bytes;
    std::vector<std::byte> bytes;
  };
  struct Put {
    Offset target;
    ConstByteSpan source;
    std::byte* place;  // in the peer's segment, or null: by the edge
    std::uint64_t at;
    Notification notification;
    Completion* completion;
  };
  struct Get {
    ByteSpan destination;
    const std::byte* place;
    std::uint64_t at;
    Completion* completion;
  };
  struct Reply {
    std::uint64_t id;
    ConstByteSpan source;
    std::uint64_t at;
  };
  using Job = std::variant<Message, Put, Get, Reply>;

  // How far a step brought a job.
  enum class Step : std::uint8_t { blocked, moved, finished };

  bool write(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) {
    if (!writer_.try_write(kind, header, payload)) return false;
    bells_.ring(peer_);
    return true;
  }
  void enqueue(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload);
  void start(Job job);
  Step step(Message& message);
  Step step(Put& put);
  Step step(Get& get);
  Step step(Reply& reply);
  void complete(Completion* completion, bool lost);
  static std::size_t lines_needed(const Job& job) noexcept;

  PeerMemory& peer_;
  Bells& bells_;
  TransportSink& sink_;
  bool direct_;
  EdgeWriter writer_;
  std::deque<Job> queue_;
  SharedCopy copy_;
};

}  // namespace stretto::fabric::cluster
