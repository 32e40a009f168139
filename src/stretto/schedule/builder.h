#pragma once

#include <cstdint>

#include "stretto/schedule/algorithm.h"

/// Words in which algorithms are written, so that they read like their papers.
namespace stretto::schedule {

constexpr BlockRef input(std::uint32_t first = 0, std::uint32_t count = 1) { return {Buffer::input, first, count}; }
constexpr BlockRef output(std::uint32_t first = 0, std::uint32_t count = 1) { return {Buffer::output, first, count}; }
constexpr BlockRef scratch(std::uint32_t first = 0, std::uint32_t count = 1) { return {Buffer::scratch, first, count}; }
/// A message that says only that its sender has come so far.
constexpr BlockRef nothing() { return {Buffer::input, 0, 0}; }

/// Gives `mine` to a partner that gives `theirs` in the same round.
void exchange(Sink& sink, Rank partner, BlockRef mine, BlockRef theirs);

/// Receives a partial result into `landing` and combines it into `accumulator`, the lower rank's terms first. That is
/// rank order whenever the two partial results cover neighbouring runs of ranks.
void accumulate(Sink& sink, Rank me, Rank peer, BlockRef landing, BlockRef accumulator);

/// Receives a partial result and combines `mine` into it, the lower rank's terms first.
void accumulate_own(Sink& sink, Rank me, Rank peer, BlockRef accumulator, BlockRef mine);

/// Rounds of a pattern that doubles: the least k such that 2^k >= size. REQUIRES: size > 0.
constexpr std::uint32_t doublings(Rank size) noexcept {
  std::uint32_t rounds = 0;
  while ((std::uint64_t{1} << rounds) < size) ++rounds;
  return rounds;
}

/// The rank `distance` places after `me` on a ring, and the one before it. REQUIRES: me < size, distance <= size.
constexpr Rank after(Rank me, Rank distance, Rank size) noexcept {
  return static_cast<Rank>((std::uint64_t{me} + distance) % size);
}
constexpr Rank before(Rank me, Rank distance, Rank size) noexcept {
  return static_cast<Rank>((std::uint64_t{me} + size - distance) % size);
}

}  // namespace stretto::schedule
