#pragma once

#include "stretto/base/bytes.h"
#include "stretto/fabric/awaited.h"
#include "stretto/fabric/callbacks.h"
#include "stretto/fabric/message.h"

namespace stretto::fabric {

/// The way to one peer and back, for who sends to it and waits for it again and again: what an endpoint looks for at
/// each message is known. Made by Endpoint::way_to. Used and destroyed under the node's baton, before the endpoint is.
class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  /// As Endpoint::send, of what that accepts.
  virtual void send(MessageType type, ConstByteSpan header, ConstByteSpan payload) = 0;
  /// As Endpoint::receive_from.
  virtual Received receive(const Awaited& awaited, MessageHandler& receiver) = 0;
};

}  // namespace stretto::fabric
