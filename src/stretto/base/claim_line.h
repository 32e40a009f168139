#pragma once

#include <atomic>
#include <cstddef>

#include "stretto/base/bytes.h"
#include "stretto/base/processor.h"

namespace stretto {

/// Whether it helps on this processor to claim lines of data that were read, or a line that is waited for: on AMD's it
/// does, on Intel's it changes nothing or costs (decisions 45 and 57). Lines of messages are claimed on all of them.
inline bool claims_help() noexcept { return on_amd(); }

/// Makes the cache line of `word` this processor's own, and changes nothing: another one that writes there next gets
/// the line from here at once, instead of having to take a copy back first. For who begins to wait for that.
template <class T>
void claim_line(std::atomic<T>& word) noexcept {
  T seen = word.load(std::memory_order_relaxed);
  word.compare_exchange_strong(seen, seen, std::memory_order_relaxed);
}

/// The same by a store to a byte at which nobody looks, which takes its caller no time.
inline void claim_free_line(std::byte& byte) noexcept { *const_cast<volatile std::byte*>(&byte) = std::byte{}; }

/// The same of all of some bytes, a moment after they were read: writes a byte of each line again, as it is. Nobody
/// writes there meanwhile.
void claim_lines(ByteSpan bytes) noexcept;
/// Of so many bytes lines are still at hand when the last one has been read.
inline constexpr std::size_t claimed_at_once = 512;
/// Copies `from` to the bytes at `to`, which lie apart, and claims its lines.
void copy_and_claim(std::byte* to, ByteSpan from) noexcept;

}  // namespace stretto
