#include "stretto/base/bytes.h"

#include <cstdint>
#include <cstring>

#include "stretto/base/sanitizers.h"

namespace stretto::detail {

namespace {

void copy_string(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
// Sanitizers do not see what the processor copies by itself.
#if defined(__x86_64__) && !defined(STRETTO_ASAN) && !defined(STRETTO_TSAN)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace

[[gnu::hot]] void copy_any_bytes(std::byte* to, ConstByteSpan from) noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t least_string = 4097;  // less is copied faster by instructions
  const std::byte* at = from.data();
  std::size_t left = from.size();
  if (left >= least_string) {
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % line;
    std::memcpy(to, at, line);
    copy_string(to + before, at + before, left - before);
    return;
  }
  // As the C library does it by instructions. A compiler that knows how little it is begins a string here, too.
  std::size_t piece = 1024;
  asm("" : "+r"(piece), "+r"(left));
  for (; left > piece; left -= piece, at += piece, to += piece) std::memcpy(to, at, piece);
  if (left > 0) std::memcpy(to, at, left);
}

}  // namespace stretto::detail
