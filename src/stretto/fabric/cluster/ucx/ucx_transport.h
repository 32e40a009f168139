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
#include "stretto/fabric/cluster/transport.h"
#include "stretto/fabric/cluster/ucx/frame.h"
#include "stretto/fabric/cluster/ucx/worker.h"

namespace stretto::fabric::cluster {

namespace ucx {
class Outbox;
}

/// Carries operations to peers on other hosts through UCX, with peer error handling (CONTRACTS 1 and 3).
///
/// A connection is made by `connect_all` or on first use, by either end, and its ends make sure of each other before
/// anything else passes (ucx/handshake.h); from then on a sender is known by the connection. Puts and answers to gets
/// travel as pieces that the receiver checks and copies into place (ucx/outbox.h), never as remote writes. A dead peer
/// is what UCX reports: a closed or reset connection at once, a vanished host by the keep-alive of an idle connection
/// (16 s unless UCX_TCP_* say otherwise) or, with data under way, when the kernel gives up sending it.
///
/// Owned by the endpoint; see Transport. UCX must not be used in a child of fork().
class UcxTransport final : public Transport, private ucx::FrameSink, private ucx::ConnectionOwner {
 public:
  /// Throws Error(not_supported) when UCX finds no network to use, Error(io) when it fails otherwise.
  UcxTransport(NodeId self, TransportSink& sink);
  /// Silent: no call to the sink. Peers that were not told by `leave` see this node die.
  ~UcxTransport() override;

  std::vector<std::byte> address() override;
  void start(std::span<const NodeId> peers, AddressOf address_of) override;
  void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) override;
  void put(NodeId to, Offset target, ConstByteSpan source, Notification notification, Completion* completion) override;
  void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) override;
  bool progress() override;
  int descriptor() const override { return worker_.descriptor(); }
  bool arm() override;
  void disarm() override {}
  /// Completions fire from later calls of `progress` where UCX still reads a put's source.
  void disconnect(NodeId peer) override;
  bool flushed() const override;
  void leave() override;
  bool left() const override;

  /// Begins a connection to each peer, one of every two ends: all are made when `all_connected`, but for those to peers
  /// that are lost. For the start of a job: UCX 1.13 aborts the process (an assertion of ucp_request_send_state_ff)
  /// when a peer dies while a connection to it is being made.
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
  void lose(Peer& peer, const Error& cause);
  void close(Peer& peer);
  void try_refuse(ucx::Connection* connection);

  void on_frame(ucx::Connection* from, ConstByteSpan header, ConstByteSpan data) noexcept override;
  void on_no_frame(ucx::Connection* from, const char* why) noexcept override;
  void failed(const char* /*status*/) noexcept override {}  // a refusal that could not be sent
  void handle(Peer& peer, const ucx::Frame& frame, ConstByteSpan data);
  void greeted(Peer& peer, const ucx::Greeting& greeting);
  void on_stranger(ucx::Connection* from, const ucx::Frame& frame);
  bool accept(ucx::Connection* from, const ucx::Greeting& greeting);
  void look_for_end(Peer& peer);

  bool settle();
  void say_goodbyes();

  NodeId self_;
  TransportSink& sink_;
  ucx::Nonce nonce_;
  AddressOf address_of_;
  bool leaving_ = false;
  std::uint64_t strangers_ = 0;

  struct Failure {
    Peer* peer;
    std::string status;
  };
  std::vector<Failure> failures_;             // reported by UCX, not acted upon yet
  std::vector<ucx::Connection*> closing_;     // let go of, not closed yet: UCX may be in the middle of a call
  std::vector<std::unique_ptr<Peer>> peers_;  // by node; null for nodes that are not peers
  std::unordered_map<ucx::Connection*, Peer*> by_connection_;
  std::unique_ptr<ucx::Outbox> refusals_;
  mutable ucx::Worker worker_;  // last: ends first, and gives back what it holds of the others
};

}  // namespace stretto::fabric::cluster
