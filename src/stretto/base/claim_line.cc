#include "stretto/base/claim_line.h"

#include <algorithm>

namespace stretto {

void copy_and_claim(std::byte* to, ByteSpan from) noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t piece = 512;  // while its lines are at hand
  for (std::size_t begin = 0; begin < from.size(); begin += piece) {
    const ByteSpan lines = from.subspan(begin, std::min(piece, from.size() - begin));
    copy_bytes(to + begin, lines);
    for (std::size_t at = 0; at < lines.size(); at += line) {
      volatile std::byte& first = lines[at];
      first = static_cast<std::byte>(first);
    }
  }
}

}  // namespace stretto
