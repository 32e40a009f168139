#pragma once

#include <cstdint>

#include "stretto/base/error.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/message.h"

namespace stretto::fabric {

/// Travels with a put and is handed to the target after the bytes are in place. The value means what the layer
/// above wants it to mean.
using Notification = std::uint64_t;

/// What the layer above hears from its endpoint. Called under the node's baton; must not block.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  /// Throws Error(bad_input) for a message that the protocol does not allow: the endpoint then closes the
  /// connection to its sender, which all layers see as `on_peer_lost` with that error as the cause.
  virtual void on_message(const Message& message) = 0;
};

class EndpointObserver {
 public:
  virtual ~EndpointObserver() = default;
  virtual void on_notification(NodeId from, Notification notification) = 0;
  /// Once per peer. After it nothing from that peer arrives, and nothing is sent to it.
  virtual void on_peer_lost(NodeId peer, const Error& cause) = 0;
  /// At most once, of a peer that leaves in good order: all that it sent has come, and it touches no memory any more.
  virtual void on_peer_left(NodeId /*peer*/) {}

  /// Of a lost peer that might linger (see Endpoint::may_linger): it touches nothing any more.
  virtual void on_peer_ended(NodeId /*peer*/) {}
};

/// Fires when a put's source may be reused or a get's destination is filled; `lost` when the peer died first.
/// Called under the issuing node's baton.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void complete(bool lost) noexcept = 0;
};

}  // namespace stretto::fabric
