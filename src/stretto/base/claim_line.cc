#include "stretto/base/claim_line.h"

#include <algorithm>

namespace stretto {

void copy_and_claim(std::byte* to, ByteSpan from) noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t piece = 512;  // while its lines are at hand
  for (; !from.empty(); from = from.subspan(std::min(piece, from.size())), to += piece) {
    const ByteSpan lines = from.first(std::min(piece, from.size()));
    copy_bytes(to, lines);
    for (std::size_t at = 0; at < lines.size(); at += line) {
      volatile std::byte& first = lines[at];
      first = static_cast<std::byte>(first);
    }
  }
}

}  // namespace stretto
