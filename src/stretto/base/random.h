#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace stretto {

/// SplitMix64 (Steele, Lea, Flood 2014): turns any seed, also 0, into well-spread words. Advances `state`.
constexpr std::uint64_t next_splitmix64(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t word = state;
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31U);
}

/// A seeded stream of pseudo-random numbers: xoshiro256** 1.0 (Blackman, Vigna).
///
/// The same seed gives the same numbers with every compiler and on every machine, which the distributions of <random>
/// do not promise; simulation and tests replay by it. A value type: whoever holds it, owns it; not for several threads.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit constexpr Random(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) word = next_splitmix64(seed);
  }

  /// 64 random bits.
  constexpr std::uint64_t operator()() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// An integer of [0, bound), each equally likely.
  /// REQUIRES: bound > 0
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    // The words under this limit would make the low remainders likelier than the others.
    const std::uint64_t limit = (0 - bound) % bound;
    std::uint64_t word = (*this)();
    while (word < limit) word = (*this)();
    return word % bound;
  }

  /// An integer of [first, last], each equally likely.
  /// REQUIRES: first <= last
  constexpr std::int64_t between(std::int64_t first, std::int64_t last) noexcept {
    const std::uint64_t count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1;
    const std::uint64_t offset = count == 0 ? (*this)() : below(count);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + offset);
  }

  /// A multiple of 2^-53 of [0, 1).
  constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

  /// A stream of its own for the part `index` of whatever this stream's holder does; this stream does not advance.
  constexpr Random fork(std::uint64_t index) const noexcept {
    std::uint64_t seed = state_[0] ^ std::rotl(state_[3], 32);
    return Random(next_splitmix64(seed) ^ next_splitmix64(index));
  }

  // What <algorithm>'s shuffle asks for; its result differs between standard libraries, though: prefer below().
  static constexpr std::uint64_t min() noexcept { return 0; }
  static constexpr std::uint64_t max() noexcept { return ~std::uint64_t{0}; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace stretto
