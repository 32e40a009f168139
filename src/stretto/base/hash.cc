#include "stretto/base/hash.h"

#include <bit>

namespace stretto {
namespace {

constexpr std::uint64_t multiplier_1 = 0x87c37b91114253d5U;
constexpr std::uint64_t multiplier_2 = 0x4cf5ad432745937fU;

std::uint64_t scramble_low(std::uint64_t word) noexcept { return std::rotl(word * multiplier_1, 31) * multiplier_2; }
std::uint64_t scramble_high(std::uint64_t word) noexcept { return std::rotl(word * multiplier_2, 33) * multiplier_1; }

std::uint64_t pair_of(NodeId first, NodeId second) noexcept { return first | std::uint64_t{second} << 32U; }

}  // namespace

Hash128 hash_of(std::span<const NodeId> nodes) noexcept {
  // The names h1 and h2 are those of the reference implementation.
  std::uint64_t h1 = 0;
  std::uint64_t h2 = 0;
  const std::uint64_t length = nodes.size_bytes();

  for (; nodes.size() >= 4; nodes = nodes.subspan(4)) {
    h1 ^= scramble_low(pair_of(nodes[0], nodes[1]));
    h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52dce729U;
    h2 ^= scramble_high(pair_of(nodes[2], nodes[3]));
    h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495ab5U;
  }
  if (nodes.size() == 3) h2 ^= scramble_high(nodes[2]);
  if (!nodes.empty()) h1 ^= scramble_low(pair_of(nodes[0], nodes.size() > 1 ? nodes[1] : 0));

  h1 ^= length;
  h2 ^= length;
  h1 += h2;
  h2 += h1;
  h1 = mix_64(h1);
  h2 = mix_64(h2);
  h1 += h2;
  h2 += h1;
  return {.high = h1, .low = h2};
}

}  // namespace stretto
