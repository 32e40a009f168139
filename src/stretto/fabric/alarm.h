#pragma once

#include <cstdint>

namespace stretto::fabric {

/// Of who is about to sleep: whether it wakes up by itself soon, whatever comes. If it does, what flows may go unheard
/// (see Endpoint::let_flow).
enum class Alarm : std::uint8_t { none, soon };

}  // namespace stretto::fabric
