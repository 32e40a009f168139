#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/network/frame.h"
#include "stretto/fabric/cluster/transport.h"

namespace stretto::fabric::cluster {

namespace network {
class Outbox;
}

/// Carries operations to peers on other hosts by a carrier (decision 19).
///
/// A connection is made by `connect_all` or on first use, by either end, and its ends make sure of each other before
/// anything else passes (network/handshake.h); from then on a sender is known by the connection. Puts and answers to
/// gets travel as pieces that the receiver checks and copies into place (network/outbox.h), never as remote writes. A
/// dead peer is what the carrier reports.
///
/// Owned by the endpoint; see Transport.
class NetworkTransport final : public Transport, private network::FrameSink, private network::ConnectionOwner {
 public:
  /// `network` and errors: see make_carrier.
  NetworkTransport(NodeId self, TransportSink& sink, std::string_view network);
  /// Silent: no call to the sink. Peers that were not told by `leave` see this node die.
  ~NetworkTransport() override;

  std::vector<std::byte> address() override;
  void start(std::span<const NodeId> peers, AddressOf address_of) override;
  void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) override;
  void put(NodeId to, Offset target, ConstByteSpan source, Notification notification, Completion* completion) override;
  void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) override;
  bool progress() override;
  int descriptor() const override { return carrier_->descriptor(); }
  bool arm(Alarm alarm) override;
  void disarm() override { carrier_->disarm(); }
  bool let_flow() override { return carrier_->let_flow(); }
  /// Completions fire from later calls of `progress` where the carrier still reads a put's source.
  void disconnect(NodeId peer) override;
  bool flushed() const override;
  void leave() override;
  bool left() const override;

  /// Begins a connection to each peer, one of every two ends: all are made when `all_connected`, but for those to peers
  /// that are lost. For the start of a job (docs/decisions/0013).
  void connect_all();
  bool all_connected() const;

  /// The networks that carry what is exchanged with `peer`, such as "tcp/eth0": empty before the first use.
  std::vector<std::string> networks(NodeId peer) const;
  /// How many frames came from processes that are no peers of this node, and were ignored.
  std::uint64_t strangers() const noexcept { return strangers_; }

 private:
  struct Peer;
  struct FrameHandler;

  Peer* reachable(NodeId peer);
  void connect(Peer& peer);
  void greet(Peer& peer);
  using Tell = void (TransportSink::*)(NodeId peer, const Error& cause);
  void lose(Peer& peer, const Error& cause, Tell tell = &TransportSink::on_peer_lost);
  void close(Peer& peer);
  void try_refuse(network::Connection* connection);

  ByteSpan place_for(network::Connection* from, ConstByteSpan header, std::size_t bytes) noexcept override;
  void on_frame(network::Connection* from, ConstByteSpan header, ConstByteSpan data) noexcept override;
  void on_no_frame(network::Connection* from, const char* why) noexcept override;
  void failed(const char* /*status*/) noexcept override {}  // a refusal that could not be sent
  void handle(Peer& peer, const network::Frame& frame, ConstByteSpan data);
  void greeted(Peer& peer, const network::Greeting& greeting);
  void on_stranger(network::Connection* from, const network::Frame& frame);
  bool accept(network::Connection* from, const network::Greeting& greeting);
  void look_for_end(Peer& peer);

  bool settle();
  void say_goodbyes();

  NodeId self_;
  TransportSink& sink_;
  network::Nonce nonce_;
  AddressOf address_of_;
  bool leaving_ = false;
  std::uint64_t strangers_ = 0;

  struct Failure {
    Peer* peer;
    std::string status;
  };
  std::vector<Failure> failures_;              // reported by the carrier, not acted upon yet
  std::vector<network::Connection*> closing_;  // let go of, not closed yet: the carrier may be in the middle of a call
  std::vector<std::unique_ptr<Peer>> peers_;   // by node; null for nodes that are not peers
  std::unordered_map<network::Connection*, Peer*> by_connection_;
  std::unique_ptr<network::Outbox> refusals_;
  std::unique_ptr<network::Carrier> carrier_;  // last: ends first, and gives back what it holds of the others
};

}  // namespace stretto::fabric::cluster
