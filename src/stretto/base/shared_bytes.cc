#include "stretto/base/shared_bytes.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stretto {

namespace {

constexpr std::size_t line_bytes = 64;
// The beginning, and the longest that it may take. It takes 200 to 450 ns, or 700 to 1,500, where going on would cost
// four times as much as to have been wrong about the other.
constexpr std::size_t trial_bytes = 4096;
constexpr std::chrono::nanoseconds longest_trial{400};

#if defined(__x86_64__)

// Not `__builtin_prefetch`: without an option for newer processors it asks to read only. Older ones do nothing.
void expect_to_write(std::byte* line) noexcept { asm volatile("prefetchw %0" : : "m"(*line)); }

// REQUIRES: `to` is aligned to a line.
void copy_lines_past_caches(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  auto* target = reinterpret_cast<__m128i*>(to);
  const auto* source = reinterpret_cast<const __m128i*>(from);
  for (std::size_t words = lines * line_bytes / sizeof(__m128i); words > 0; --words) {
    _mm_stream_si128(target++, _mm_loadu_si128(source++));
  }
  _mm_sfence();  // such writes are in no order with others
}

#else

void expect_to_write(std::byte* line) noexcept { __builtin_prefetch(line, 1); }

void copy_lines_past_caches(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  copy_bytes(to, {from, lines * line_bytes});
}

#endif

void expect_to_write(std::byte* to, std::size_t bytes) noexcept {
  for (std::size_t line = 0; line < bytes; line += line_bytes) expect_to_write(to + line);
}

}  // namespace

// Asks for as many lines at a time as a processor can wait for.
void detail::copy_with_lines_ahead(std::byte* to, ConstByteSpan from) noexcept {
  constexpr std::size_t ahead = 1024;
  expect_to_write(to, std::min(ahead, from.size()));
  while (!from.empty()) {
    const ConstByteSpan piece = from.first(std::min(ahead, from.size()));
    from = from.subspan(piece.size());
    expect_to_write(to + piece.size(), std::min(ahead, from.size()));
    copy_bytes(to, piece);
    to += piece.size();
  }
}

void detail::copy_past_caches(std::byte* to, ConstByteSpan from) noexcept {
  const std::size_t before = std::min<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) % line_bytes, from.size());
  const std::size_t lines = (from.size() - before) / line_bytes;
  const std::size_t done = before + lines * line_bytes;
  copy_bytes(to, from.first(before));
  copy_lines_past_caches(to + before, from.data() + before, lines);
  copy_bytes(to + done, from.subspan(done));
}

void copy_to_shared(std::byte* to, ConstByteSpan from) noexcept {
  const ConstByteSpan trial = from.first(std::min(trial_bytes, from.size()));
  const ConstByteSpan rest = from.subspan(trial.size());
  const auto start = std::chrono::steady_clock::now();
  detail::copy_with_lines_ahead(to, trial);
  if (rest.empty()) return;
  const bool is_slow = std::chrono::steady_clock::now() - start > longest_trial;
  (is_slow ? detail::copy_past_caches : detail::copy_with_lines_ahead)(to + trial.size(), rest);
}

}  // namespace stretto
