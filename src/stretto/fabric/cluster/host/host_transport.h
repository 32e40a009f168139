#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/host/bells.h"
#include "stretto/fabric/cluster/host/control.h"
#include "stretto/fabric/cluster/host/host_multicast.h"
#include "stretto/fabric/cluster/host/host_peer.h"
#include "stretto/fabric/cluster/host/introduction.h"
#include "stretto/fabric/cluster/host/process_memory.h"
#include "stretto/fabric/cluster/transport.h"
#include "stretto/fabric/cluster/watcher.h"

namespace stretto::fabric::cluster {

struct HostOptions {
  /// Lines of 64 bytes in the long ring of one directed edge; see edge.h and valid_ring_lines.
  std::uint32_t ring_lines = 1024;
  /// Whether peers' segments are touched in place. Off: `peer_pointer` is null and all bytes go through rings.
  bool direct = true;
  /// Whether other memory of theirs is read by the kernel.
  ProcessReads process_reads = ProcessReads::automatic;
};

/// Peers of the same host, over rings and segments in shared memory of our own: in that of UCX 1.13 a peer's death goes
/// unseen.
///
/// Death is the kernel's word: the connection of a peer closed, or its process ended. A stopped peer is slow.
class HostTransport final : public Transport {
 public:
  /// `segment` is shareable. Throws Error(invalid_argument), Error(out_of_resources).
  HostTransport(NodeId self, Segment& segment, const HostOptions& options, TransportSink& sink);

  std::vector<std::byte> address() override;
  /// Waits until every peer and this node know each other, or the peer is dead.
  void start(std::span<const NodeId> peers, AddressOf address_of) override;

  void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) override;
  std::shared_ptr<Multicast> multicast_to(std::span<const NodeId> peers) override;
  void begin_burst() noexcept override { bells_.begin_burst(); }
  void end_burst() noexcept override { bells_.end_burst(); }
  void put(NodeId to, Offset target, ConstByteSpan source, Notification notification, Completion* completion) override;
  void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) override;
  bool maps() const noexcept override { return options_.direct; }
  std::byte* peer_pointer(NodeId peer, Offset offset, std::size_t bytes) noexcept override;
  bool reads(NodeId peer) const noexcept override { return peer_of(peer).is_read; }
  bool is_read_by(NodeId peer) const noexcept override;
  void read_private(NodeId from, Offset source, ByteSpan destination) override;

  bool progress() override;
  Received receive_from(NodeId node, const Awaited& awaited, MessageHandler& receiver) override;
  bool can_receive_from() const noexcept override { return true; }
  std::unique_ptr<Way> way_to(NodeId peer, RequestCount& requests) override;
  int descriptor() const override { return watcher_.descriptor(); }
  bool arm(Alarm alarm) override;
  void disarm() override;

  bool sees_death() const override { return true; }
  void disconnect(NodeId peer) override;
  bool flushed() const override { return waiting_.empty(); }
  bool may_linger(NodeId peer) const override { return peer_of(peer).lingers; }
  void leave() override;

 private:
  class HostWay;

  // Meeting the peers, and noticing their end (host_transport.cc).
  std::vector<HostPeer> list_peers(std::span<const NodeId> peers, const AddressOf& address_of) const;
  bool introduced(const HostPeer& peer) const;
  void call_on_all(std::vector<HostPeer*>& unknown);
  void note_call(HostPeer& peer, Connection connection);
  void watch_process(HostPeer& peer);
  bool look_around(int timeout_ms);
  bool hear_from(HostPeer& peer);
  bool await_end(HostPeer& peer);
  void meet(HostPeer& peer, Welcome welcome);
  bool can_read(const HostPeer& peer) const;
  void end(HostPeer& peer, const Error& cause);
  void let_go(HostPeer& peer, Standing standing);
  void unwatch(HostPeer& peer);
  static Error gone(const HostPeer& peer, const std::string& evidence);
  static Error fault(const HostPeer& peer, const std::string& what);

  // Moving data (host_transfer.cc).
  HostPeer& peer_of(NodeId node) const { return *peer_of_[node]; }
  bool can_send(HostPeer& peer) { return peer.standing == Standing::present && (peer.edge_made || make_edge(peer)); }
  bool make_edge(HostPeer& peer);
  void note_waiting(HostPeer& peer) {
    if (peer.outbox->empty() || peer.waiting) return;
    peer.waiting = true;
    waiting_.push_back(&peer);
  }
  bool time_to_look();
  bool is_noticed(const HostPeer& peer) const noexcept {
    return (noticed_[peer.place / 64] >> (peer.place % 64) & 1U) != 0;
  }
  bool senders_unnoticed() const noexcept {
    for (std::size_t word = 0; word < sender_words_; ++word) {
      if ((shared_->senders[word].load(std::memory_order_relaxed) & ~noticed_[word]) != 0) return true;
    }
    return false;
  }
  bool notice_senders() { return senders_unnoticed() && take_up_senders(); }
  bool take_up_senders();
  void send_to(HostPeer& peer, std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload);
  bool receive(HostPeer& peer);
  Received receive_from(HostPeer& peer, const Awaited& awaited, MessageHandler& receiver);
  Received receive_any(HostPeer& peer, const Awaited& awaited, MessageHandler& receiver);
  void give_back(HostPeer& peer) {
    if (peer.reader.current().give_back()) peer.memory->ring_if_armed();
  }
  DecodedLine take_line(HostPeer& peer, RingReader& reader);
  void blame(HostPeer& peer, LineHead malformed);
  template <class Use>
  bool take_multicast(HostPeer& peer, std::size_t at, const Use& use);
  Message message_of(const HostPeer& peer, LineHead head) const noexcept;
  void handle(HostPeer& peer, LineHead head);
  void handle_own(HostPeer& peer, LineHead head);
  void handle_put_piece(HostPeer& peer, ConstByteSpan header, ConstByteSpan payload);
  void handle_get_request(HostPeer& peer, ConstByteSpan header);
  void handle_get_piece(HostPeer& peer, ConstByteSpan header, ConstByteSpan payload);
  void handle_multicast_begin(HostPeer& peer, const MulticastHeader& header);
  bool drain_waiting();
  bool anything_to_do();

  NodeId self_;
  Segment& segment_;
  HostOptions options_;
  TransportSink& sink_;
  Secret secret_;
  Watcher watcher_;
  Door door_;

  std::unique_ptr<Control> control_;                          // from `start` on
  const SharedPage* shared_ = nullptr;                        // its
  std::size_t sender_words_ = 0;                              // that are used there
  std::uint32_t place_ = 0;                                   // this node's own, among the nodes of the host by rank
  std::vector<HostPeer> peers_;                               // by place; this node's own entry is unused
  std::vector<HostPeer*> peer_of_;                            // of those, by node; null: not of this host
  std::array<std::uint64_t, max_host_nodes / 64> noticed_{};  // senders whose edges are read
  Bells bells_;
  std::unique_ptr<MulticastRings> multicasts_;  // from `start` on
  std::vector<HostPeer*> receiving_;
  std::vector<HostPeer*> waiting_;  // whose outboxes are not empty
  std::uint64_t taken_ = 0;         // messages, good and bad
  std::uint64_t next_get_ = 0;
  std::uint32_t passes_ = 0;
  std::chrono::steady_clock::time_point last_look_;
  bool starting_ = true;
  bool progressing_ = false;
  std::vector<std::pair<HostPeer*, Error>> ended_;  // during `start`; reported by the first progress
  std::atomic<bool> look_around_{true};
  alignas(64) std::array<std::byte, max_message_line_bytes> buffer_;  // a message while it is handled
};

}  // namespace stretto::fabric::cluster
