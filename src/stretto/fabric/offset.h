#pragma once

#include <cstdint>

namespace stretto::fabric {

/// A position in some node's segment; or an address of its process's own memory, see private_offset.
using Offset = std::uint64_t;

/// What tells these apart: no segment is as long, and no address; and offsets below a segment's start have all high
/// bits.
inline constexpr Offset private_mark = Offset{1} << 62U;

/// By which offset peers read memory of this process that is not shared (Endpoint::read_private).
inline Offset private_offset(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) | private_mark;
}
/// Whether it is one of those.
constexpr bool is_private(Offset offset) noexcept { return offset >> 62U == private_mark >> 62U; }
constexpr std::uintptr_t private_address(Offset offset) noexcept { return offset ^ private_mark; }

}  // namespace stretto::fabric
