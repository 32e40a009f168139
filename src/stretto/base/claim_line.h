#pragma once

#include <atomic>

#include "stretto/base/processor.h"

namespace stretto {

/// Whether it helps on this processor to claim a line: on AMD's it was measured to (decision 45), on others not yet.
inline bool claims_help() noexcept { return on_amd(); }

/// Makes the cache line of `word` this processor's own, and changes nothing: another one that writes there next gets
/// the line from here at once, instead of having to take a copy back first. For who begins to wait for that.
template <class T>
void claim_line(std::atomic<T>& word) noexcept {
  T seen = word.load(std::memory_order_relaxed);
  word.compare_exchange_strong(seen, seen, std::memory_order_relaxed);
}

}  // namespace stretto
