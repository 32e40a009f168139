#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/base/bytes.h"

namespace stretto {

/// Whether what one other processor reads next is written past the caches, or as any copy is (decision 38). Pure: told
/// how long copies took.
///
/// That processor has in its caches what was there before. Where the two share a cache, lines come from there at
/// once, and the reader finds the new ones there; where they do not, each line takes a way of its own before it is
/// written, which writes past the caches do without. Who runs where changes while a program runs, so it is tried again
/// now and then.
class CopyChoice {
 public:
  /// As much takes long enough to tell one from the other; less is copied as ever.
  static constexpr std::size_t trial_bytes = std::size_t{8} << 10U;

  bool past_caches() const noexcept { return past_caches_; }
  /// Of each copy that would be written past the caches: whether its first `trial_bytes` are not, to see how long that
  /// takes now. Of each one that would be left out: whether it is made.
  bool tries_again() noexcept {
    if (++copies_since_trial_ < copies_between_trials) return false;
    copies_since_trial_ = 0;
    return true;
  }
  /// An ordinary copy of so many bytes took so many ticks of the processor's counter.
  void note(std::size_t bytes, std::uint64_t ticks) noexcept {
    const bool is_slow = ticks > bytes * slow_ticks / slow_bytes;
    past_caches_ = is_slow && (past_caches_ || was_slow_);
    was_slow_ = is_slow;
  }

 private:
  // 7 GB/s where the counter ticks 2.6 times a nanosecond. Seen on AMD EPYC: 2 to 4 GB/s from far, 20 to 40 from near.
  static constexpr std::uint64_t slow_ticks = 3;
  static constexpr std::uint64_t slow_bytes = 8;
  static constexpr unsigned copies_between_trials = 16;

  bool past_caches_ = false;
  bool was_slow_ = false;  // the kernel may have taken the core for a moment: it has to be slow twice
  unsigned copies_since_trial_ = 0;
};

/// Copies for one other processor to read next. For one thread at a time.
class SharedCopy {
 public:
  /// Copies `from` to the bytes at `to`, which lie apart. What is stored afterwards is seen no earlier.
  void copy(std::byte* to, ConstByteSpan from) noexcept;
  /// Whether who makes what that processor reads may as well store it there itself. Now and then not, so that a copy
  /// shows how long one takes.
  bool goes_without() noexcept { return !choice_.past_caches() && !choice_.tries_again(); }

 private:
  CopyChoice choice_;
};

namespace detail {

void copy_past_caches(std::byte* to, ConstByteSpan from) noexcept;

}  // namespace detail

}  // namespace stretto
