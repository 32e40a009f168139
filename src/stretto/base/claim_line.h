#pragma once

#include <atomic>

namespace stretto {

/// Whether it helps on this processor to claim a line: on AMD's it was measured to (decision 45), on others not yet.
inline bool claims_help() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

/// Makes the cache line of `word` this processor's own, and changes nothing: another one that writes there next gets
/// the line from here at once, instead of having to take a copy back first. For who begins to wait for that.
template <class T>
void claim_line(std::atomic<T>& word) noexcept {
  T seen = word.load(std::memory_order_relaxed);
  word.compare_exchange_strong(seen, seen, std::memory_order_relaxed);
}

}  // namespace stretto
