#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/base/bytes.h"
#include "stretto/fabric/message.h"

namespace stretto::fabric {

/// A message of which all is known but what its payload says, and how its header ends.
struct Foreseen {
  MessageType type;
  std::size_t header_bytes;
  ConstByteSpan beginning;  ///< what the header begins with
  ByteSpan payload;         ///< where a payload of just that size is to be; some of it may be there before it is whole

  bool is(const Message& message) const noexcept {
    return message.type == type && message.header.size() == header_bytes && message.payload.size() == payload.size() &&
           same_words(message.header.first(beginning.size()), beginning);
  }
};

/// What is known of a message that is looked for. Hints: any other message may come.
struct Awaited {
  std::size_t bytes = 0;  ///< of header and payload
  /// Whether it is likely to be on its way, as where two nodes send to each other; or it is not waited for now.
  bool is_due = false;
  const Foreseen* foreseen = nullptr;  ///< that it is this one
  /// How often to look for what is foreseen, one time right after the other, where that is what comes soonest.
  unsigned looks = 1;
};

/// What came of a look for one.
enum class Received : std::uint8_t {
  nothing,
  something,  ///< some message, which was handed on, or what is none
  foreseen,   ///< what was foreseen, whose payload is in place
};

}  // namespace stretto::fabric
