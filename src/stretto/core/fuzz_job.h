#pragma once

// What fuzzers share that run whole jobs, on sim: one for each input, in which one node lies.

#include <cstddef>
#include <string_view>

#include "stretto/core/runtime.h"

/// AddressSanitizer keeps stacks of its own for each fiber, to find uses of what a function has returned from, and
/// never gives back those of fibers that are gone: a million jobs would not fit.
extern "C" [[gnu::used]] inline const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }

namespace stretto::fuzz {

inline RuntimeOptions options_for(std::string_view fabric) {
  RuntimeOptions options;
  options.fabric = fabric;
  options.segment_bytes = std::size_t{16} << 20U;
  options.log_level = LogLevel::off;
  return options;
}

/// From now on `node` and `peer` are lost to each other.
inline void break_with(Node& node, NodeId peer) {
  fabric::Endpoint& endpoint = node.endpoint();
  endpoint.context().enter([&] { endpoint.lose(peer, Error(ErrorCode::peer_lost, "all is said")); });
}

}  // namespace stretto::fuzz
