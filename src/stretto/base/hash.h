#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/base/ids.h"

// Hashes that are the same in every process, on every machine and in every version of Stretto, because nodes compare
// them with one another. None of them resists an attacker.

namespace stretto {

inline constexpr std::uint64_t fnv1a_64_start = 0xcbf29ce484222325U;

/// FNV-1a, 64 bits (Fowler, Noll, Vo). `hash` continues an earlier one.
constexpr std::uint64_t fnv1a_64(std::string_view text, std::uint64_t hash = fnv1a_64_start) noexcept {
  for (const char character : text) {
    hash ^= static_cast<std::uint8_t>(character);
    hash *= 0x00000100000001b3U;
  }
  return hash;
}

/// The same over raw bytes, for digests of messages and tables.
constexpr std::uint64_t fnv1a_64(std::span<const std::byte> bytes, std::uint64_t hash = fnv1a_64_start) noexcept {
  for (const std::byte byte : bytes) {
    hash ^= std::to_integer<std::uint64_t>(byte);
    hash *= 0x00000100000001b3U;
  }
  return hash;
}

/// A bijection of 64-bit words in which each input bit affects every output bit: the finaliser of MurmurHash3
/// (Appleby).
constexpr std::uint64_t mix_64(std::uint64_t word) noexcept {
  word ^= word >> 33U;
  word *= 0xff51afd7ed558ccdU;
  word ^= word >> 33U;
  word *= 0xc4ceb9fe1a85ec53U;
  word ^= word >> 33U;
  return word;
}

/// 128 bits, wide enough that different lists of nodes may be taken to have different hashes.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// The hash of an ordered list of nodes: MurmurHash3_x64_128 (Appleby, public domain), seed 0, over the ids as
/// little-endian 32-bit words. Order matters: {0, 1} and {1, 0} are different groups.
Hash128 hash_of(std::span<const NodeId> nodes) noexcept;

}  // namespace stretto
