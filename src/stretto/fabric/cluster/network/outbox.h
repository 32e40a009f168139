#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/network/frame.h"
#include "stretto/fabric/cluster/transport.h"

namespace stretto::fabric::cluster::network {

/// How many frames of one peer the carrier may hold: small ones, and pieces. What is more waits here.
inline constexpr std::size_t max_frames_under_way = 64;
inline constexpr std::size_t max_pieces_under_way = 4;

/// All that goes to one peer: what the carrier can't take yet, and what it holds.
///
/// Owned by the transport's record of that peer, which lives until the carrier holds nothing more. Under the node's
/// baton. Small frames (messages, requests) leave in order of their calls, before pieces of puts and answers, which
/// leave in order, too: neither class waits for the other.
class Outbox {
 public:
  /// `owner` hears when the carrier refuses a frame.
  Outbox(Carrier& carrier, TransportSink& sink, ConnectionOwner& owner);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// From now on queued frames may leave.
  void open(Connection* connection);

  /// A frame of the connection itself: not counted, never queued. Its sending may fail like any other.
  void control(Connection* connection, const Frame& frame);
  void message(MessageType type, ConstByteSpan header, ConstByteSpan payload);
  void request(const GetRequest& get);
  /// `source` stays as it is until `completion` (may be null) fires.
  void put(Offset target, ConstByteSpan source, Notification notification, Completion* completion);
  /// The answer to a peer's get, sent from where it is.
  void answer(std::uint64_t get, ConstByteSpan source);

  /// Forgets all that is queued. Completions of puts fire with `lost`, at the latest when the carrier has let go of
  /// their sources.
  void drop();
  /// The same, but nobody hears of it.
  void abandon();

  /// Whether nothing is queued and the carrier holds nothing.
  bool idle() const noexcept { return queue_.empty() && transfers_.empty() && under_way_ == 0; }
  /// Messages, requests and pieces that were given to the carrier.
  std::uint64_t frames() const noexcept { return frames_; }

 private:
  class Packet;

  /// A put or an answer, leaving by pieces.
  struct Transfer {
    bool is_put;
    PutPiece next;  // an answer uses `id` and `at` only
    ConstByteSpan source;
    Completion* completion;
    std::size_t pieces_under_way = 0;
    bool all_given = false;
    bool dropped = false;
  };
  using Transfers = std::list<Transfer>;

  void enqueue(const FrameHeader& header, ConstByteSpan data);
  void begin(Transfer transfer);
  void pump();
  void give_frames();
  void give_pieces();
  void give(std::unique_ptr<Packet> packet, Connection* to, ConstByteSpan data);
  void take_back(std::unique_ptr<Packet> packet);
  void finish_if_done(Transfers::iterator transfer);
  std::unique_ptr<Packet> fresh_packet();

  Carrier& carrier_;
  TransportSink& sink_;
  ConnectionOwner& owner_;
  Connection* connection_ = nullptr;  // once open, until dropped
  std::deque<std::unique_ptr<Packet>> queue_;
  Transfers transfers_;
  std::vector<std::unique_ptr<Packet>> spare_;
  std::uint64_t next_put_ = 0;
  std::uint64_t frames_ = 0;
  std::size_t under_way_ = 0;  // packets, pieces among them
  std::size_t pieces_under_way_ = 0;
};

}  // namespace stretto::fabric::cluster::network
