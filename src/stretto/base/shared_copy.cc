#include "stretto/base/shared_copy.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>

namespace stretto {

#if defined(__x86_64__)

namespace {

constexpr std::size_t line_bytes = 64;

// REQUIRES: `to` is aligned to a line.
void copy_lines_past_caches(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  auto* target = reinterpret_cast<__m128i*>(to);
  const auto* source = reinterpret_cast<const __m128i*>(from);
  for (std::size_t words = lines * line_bytes / sizeof(__m128i); words > 0; --words) {
    _mm_stream_si128(target++, _mm_loadu_si128(source++));
  }
  _mm_sfence();  // such writes are in no order with others
}

}  // namespace

void detail::copy_past_caches(std::byte* to, ConstByteSpan from) noexcept {
  const std::size_t before = std::min<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) % line_bytes, from.size());
  const std::size_t lines = (from.size() - before) / line_bytes;
  const std::size_t done = before + lines * line_bytes;
  copy_bytes(to, from.first(before));
  copy_lines_past_caches(to + before, from.data() + before, lines);
  copy_bytes(to + done, from.subspan(done));
}

void SharedCopy::copy(std::byte* to, ConstByteSpan from) noexcept {
  if (from.size() < CopyChoice::trial_bytes) {
    copy_bytes(to, from);
    return;
  }
  if (choice_.past_caches() && !choice_.tries_again()) {
    detail::copy_past_caches(to, from);
    return;
  }
  const ConstByteSpan timed = choice_.past_caches() ? from.first(CopyChoice::trial_bytes) : from;
  // determinism: how bytes are copied, not which
  const std::uint64_t begin = __rdtsc();
  copy_bytes(to, timed);
  choice_.note(timed.size(), __rdtsc() - begin);
  const ConstByteSpan rest = from.subspan(timed.size());
  if (!rest.empty()) detail::copy_past_caches(to + timed.size(), rest);
}

#else

void detail::copy_past_caches(std::byte* to, ConstByteSpan from) noexcept { copy_bytes(to, from); }

void SharedCopy::copy(std::byte* to, ConstByteSpan from) noexcept { copy_bytes(to, from); }

#endif

}  // namespace stretto
