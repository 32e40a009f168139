#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/cluster/transport.h"
#include "stretto/fabric/cluster/watcher.h"
#include "stretto/fabric/endpoint.h"

namespace stretto::fabric {

/// The endpoint of a node that is a process: routes each operation to the transport that reaches the peer.
///
/// Owned by the cluster fabric. One thread at a time may sleep on its descriptor: `arm`, wait until the descriptor is
/// readable, `disarm`. REQUIRES for `arm`: the calling thread serves no context (it takes the baton itself).
class ClusterEndpoint final : public Endpoint, private cluster::TransportSink {
 public:
  ClusterEndpoint(Bootstrap& bootstrap, Context& context, std::unique_ptr<Segment> segment);
  ~ClusterEndpoint() override;

  /// What transports report to, for those who make them.
  cluster::TransportSink& sink() noexcept { return *this; }

  /// Adds the transport that reaches `peers`; they are started already. Before first use.
  void add_transport(std::unique_ptr<cluster::Transport> transport, std::span<const NodeId> peers);
  /// Throws what cost a peer before `open`: without that peer the job cannot begin.
  void throw_early_loss() const {
    if (!early_.empty()) throw Error(early_.front().second);
  }
  /// From now on losses are told to observers; those that are known are told by the next `progress`.
  void open();

  void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) override;
  std::shared_ptr<Multicast> multicast_to(std::span<const NodeId> peers) override;
  [[gnu::hot]] void send_to_all(Multicast& peers, MessageType type, ConstByteSpan header,
                                ConstByteSpan payload) override {
    Endpoint::send_to_all(peers, type, header, payload);
    count_request();
  }
  [[gnu::hot]] void begin_burst() noexcept override {
    for (const auto& transport : transports_) transport->begin_burst();
  }
  [[gnu::hot]] void end_burst() noexcept override {
    for (const auto& transport : transports_) transport->end_burst();
  }
  void put(NodeId to, Offset target, ConstByteSpan source, Notification notification, Completion* completion) override;
  void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) override;
  bool may_linger(NodeId peer) const override;
  bool maps(NodeId peer) const override;
  std::byte* peer_pointer(NodeId peer, Offset offset, std::size_t bytes) override;
  bool reads(NodeId peer) const noexcept override;
  bool is_read_by(NodeId peer) const noexcept override;
  void read_private(NodeId from, Offset source, ByteSpan destination) override;
  bool progress() override;
  [[gnu::hot]] Received receive_from(NodeId peer, const Awaited& awaited, MessageHandler& receiver) override {
    cluster::Transport* const transport = route_to(peer);
    return transport == nullptr ? Received::nothing : transport->receive_from(peer, awaited, receiver);
  }
  bool can_receive_from(NodeId peer) const override;
  std::unique_ptr<Way> way_to(NodeId peer) override;

  int descriptor() const override { return watcher_.descriptor(); }
  bool arm(Alarm alarm) override;
  void disarm() override;
  bool let_flow() override;

  /// From now on nothing is called back, neither handlers nor observers nor completions: they may be gone. What arrives
  /// is read and dropped, so that peers get room for what they send.
  void close_ears() noexcept { deaf_ = true; }
  /// Whether all that was sent has left this process.
  bool flushed() const;
  void leave();
  bool left() const;

 protected:
  void disconnect(NodeId peer) override;

 private:
  [[gnu::hot]] void on_message(const Message& message) override {
    if (!deaf_) deliver(message);
  }
  std::optional<ByteSpan> window(NodeId from, Offset offset, std::uint64_t bytes) override;
  void complete_later(Completion* completion, bool lost) override;
  void on_notification(NodeId from, Notification notification) override {
    if (!deaf_) notify(from, notification);
  }
  void on_peer_lost(NodeId peer, const Error& cause) override;
  void lose_later(NodeId peer, const Error& cause) override;
  void on_peer_left(NodeId peer) override;
  void on_peer_ended(NodeId peer) override;

  /// The transport to a peer that can still be reached, or null.
  cluster::Transport* route_to(NodeId peer) const noexcept { return route_[peer]; }
  template <class Function>
  void post(Function function);
  bool arm_transports(Alarm alarm);
  bool ask_bootstrap();
  void send_to_self(MessageType type, ConstByteSpan header, ConstByteSpan payload);
  void put_to_self(Offset target, ConstByteSpan source, Notification notification, Completion* completion);
  void get_from_self(Offset source, ByteSpan destination, Completion* completion);

  Bootstrap& bootstrap_;
  cluster::Watcher watcher_;
  std::vector<std::unique_ptr<cluster::Transport>> transports_;
  std::vector<cluster::Transport*> route_;         // by peer; null: this node, or gone
  std::vector<cluster::Transport*> transport_of_;  // by peer; null: this node
  bool open_ = false;
  bool deaf_ = false;
  bool launcher_lost_ = false;
  std::vector<std::pair<NodeId, Error>> early_;  // losses before `open`
  std::uint32_t passes_ = 0;
  std::atomic<bool> look_at_bootstrap_{true};
};

}  // namespace stretto::fabric
