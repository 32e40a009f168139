#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "stretto/base/bytes.h"
#include "stretto/core/event.h"

namespace stretto {

/// How the outcome of an event travels: this header, and as payload the text of the cause, if any.
struct TriggerHeader {
  std::uint64_t event;
  std::uint8_t poisoned;
  std::uint8_t code;            ///< ErrorCode
  std::uint8_t subscribed = 0;  ///< to an event's owner: the sender has subscribed to it as well
  std::uint8_t unused[5] = {};
};

inline TriggerHeader trigger_header(Event event, const Cause& cause, bool subscribed = false) {
  const ErrorCode code = cause == nullptr ? ErrorCode::internal : cause->code();
  return {event.bits(), cause != nullptr, static_cast<std::uint8_t>(code), subscribed};
}

/// The first kilobyte of the cause's message; empty for a clean trigger.
ConstByteSpan text_of(const Cause& cause);

/// What a peer said; throws Error(bad_input) for a code that does not exist.
Cause cause_from(const TriggerHeader& header, ConstByteSpan text);

/// The exception that is being handled, as a cause: an Error as it is, std::bad_alloc as `out_of_resources`, anything
/// else as `poisoned`, with its text.
Cause cause_of_current_exception(const std::string& where);

}  // namespace stretto
