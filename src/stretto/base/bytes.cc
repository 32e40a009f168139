#include "stretto/base/bytes.h"

#include <cstring>

namespace stretto::detail {

void copy_any_bytes(std::byte* to, ConstByteSpan from) noexcept {
  // Less than what the C library copies by `rep movsb`, and enough to pay for a call.
  constexpr std::size_t piece = 1024;
  const std::byte* at = from.data();
  std::size_t left = from.size();
  for (; left > piece; left -= piece, at += piece, to += piece) std::memcpy(to, at, piece);
  if (left > 0) std::memcpy(to, at, left);
}

}  // namespace stretto::detail
