#include "stretto/base/claim_line.h"

#include <algorithm>

namespace stretto {

void claim_lines(ByteSpan bytes) noexcept {
  constexpr std::size_t line = 64;
  for (std::size_t at = 0; at < bytes.size(); at += line) {
    volatile std::byte& first = bytes[at];
    first = static_cast<std::byte>(first);
  }
}

void copy_and_claim(std::byte* to, ByteSpan from) noexcept {
  for (std::size_t begin = 0; begin < from.size(); begin += claimed_at_once) {
    const ByteSpan lines = from.subspan(begin, std::min(claimed_at_once, from.size() - begin));
    copy_bytes(to + begin, lines);
    claim_lines(lines);
  }
}

}  // namespace stretto
