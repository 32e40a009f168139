#include "stretto/base/error.h"

#include <utility>

namespace stretto {

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::invalid_state: return "invalid_state";
    case ErrorCode::not_supported: return "not_supported";
    case ErrorCode::out_of_resources: return "out_of_resources";
    case ErrorCode::bad_input: return "bad_input";
    case ErrorCode::io: return "io";
    case ErrorCode::peer_lost: return "peer_lost";
    case ErrorCode::poisoned: return "poisoned";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::deadlock: return "deadlock";
    case ErrorCode::mismatch: return "mismatch";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string message)
    : code_(code), message_(std::move(message)), text_(std::string(name_of(code)) + ": " + message_) {}

}  // namespace stretto
