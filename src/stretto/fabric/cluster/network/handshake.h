#pragma once

#include "stretto/base/ids.h"
#include "stretto/fabric/cluster/network/frame.h"

namespace stretto::fabric::cluster::network {

/// How the two ends of a connection make sure of each other: greetings in, greetings out, nothing else happens here.
///
/// Each end greets first when it likes, and answers a good greeting unless it has said already that it knows the
/// other. A nonce is published through the bootstrap only, so the two in a greeting prove that its sender belongs to
/// this job, and that it means this very process. An end sends other frames only when it is `open`, that is, when the
/// other knows it, so that a frame on a connection that isn't `verified` is a fault, whatever the network reorders.
///
///     opener: first ->                -> answers `known`: open after the first answer
///     other:          -> answers `known`                 : open after the second
class Handshake {
 public:
  Handshake(NodeId self, const Nonce& own, NodeId peer, const Nonce& peers) noexcept
      : self_(self), own_(own), peer_(peer), peers_(peers) {}

  /// The greeting to send now: once to open a connection, and whenever `receive` says so.
  Greeting greeting() noexcept;

  /// Takes a greeting that arrived on this connection; returns whether to answer it. Throws Error(bad_input) when it
  /// isn't the peer that speaks, or when it means another process.
  bool receive(const Greeting& greeting);

  /// Whether it is the peer that is at the other end.
  bool verified() const noexcept { return verified_; }
  /// Whether, besides, the peer knows that it is this node that is at this end.
  bool open() const noexcept { return open_; }

 private:
  NodeId self_;
  Nonce own_;
  NodeId peer_;
  Nonce peers_;
  bool verified_ = false;
  bool open_ = false;
  bool told_ = false;  // a greeting that says `known` was sent
};

}  // namespace stretto::fabric::cluster::network
