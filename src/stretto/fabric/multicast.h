#pragma once

#include "stretto/base/bytes.h"
#include "stretto/fabric/message.h"

namespace stretto::fabric {

/// The sending end towards several peers that are sent the same messages at once. Made by Endpoint::multicast_to, used
/// by Endpoint::send_to_all. Used and destroyed under the node's baton, before the endpoint is.
class Multicast {
 public:
  Multicast() = default;
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;
  virtual ~Multicast() = default;

  /// As Endpoint::send, to each of them.
  virtual void send(MessageType type, ConstByteSpan header, ConstByteSpan payload) = 0;
};

}  // namespace stretto::fabric
