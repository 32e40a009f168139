#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stretto::schedule {

/// A member's place in its group: 0 to size - 1. The executor maps ranks to nodes; `schedule` knows no nodes.
using Rank = std::uint32_t;

/// The largest group that can be reasoned about: rank arithmetic stays within 32 bits.
inline constexpr Rank max_size = Rank{1} << 31U;

enum class Operation : std::uint8_t { barrier, broadcast, reduce, allreduce, allgather };

/// The stable lower-case name of `operation`, for example "allreduce".
std::string_view name_of(Operation operation) noexcept;

/// Everything about a collective operation that its message pattern may depend on.
struct Shape {
  Operation operation = Operation::allreduce;
  Rank size = 1;
  Rank root = 0;             ///< broadcast: who gives; reduce: who receives; otherwise 0
  std::uint32_t blocks = 1;  ///< pieces of the vector of a broadcast, reduce or allreduce; otherwise 1
  bool commutative = true;   ///< reduce, allreduce: the operator's terms may change places; otherwise true

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// One line for people: "allreduce of 6 ranks", "reduce of 6 ranks to rank 2, in rank order".
std::string describe(const Shape& shape);

/// What is wrong with `shape` whatever the algorithm (no ranks, root out of range, ...); empty if nothing is.
std::string defect_of(const Shape& shape);

/// Where a block lives. Input is only read; output exists only at receivers; scratch is private to the schedule.
enum class Buffer : std::uint8_t { input, output, scratch };

std::string_view name_of(Buffer buffer) noexcept;

/// `count` consecutive blocks of a buffer.
///
/// Broadcast, reduce, allreduce: block b of input and output is the b-th piece of the vector. Allgather: the input is
/// one block, and output block r is the contribution of rank r. Scratch blocks are slots of the largest block's size.
/// A count of 0 is a message without data (a barrier's).
struct BlockRef {
  Buffer buffer = Buffer::input;
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

/// Blocks in a rank's input: 0 where it contributes nothing (barrier; a broadcast's ranks other than the root).
std::uint32_t input_blocks(const Shape& shape, Rank me) noexcept;

/// Blocks in a rank's output: 0 where it receives nothing (barrier; a reduce's ranks other than the root).
std::uint32_t output_blocks(const Shape& shape, Rank me) noexcept;

/// Whether the operation owes `me` something: a result, or, for a barrier, the right to go on.
bool is_receiver(const Shape& shape, Rank me) noexcept;

/// The output block that is the same memory as input block 0 when the caller passes input and output in place.
/// REQUIRES: `me` has both an input and an output.
std::uint32_t in_place_offset(const Shape& shape, Rank me) noexcept;

/// A run of elements or bytes.
struct Piece {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Piece `index` of `total` things cut into `pieces` as evenly as can be, the longer pieces first.
/// REQUIRES: index < pieces.
constexpr Piece cut(std::uint64_t total, std::uint32_t pieces, std::uint32_t index) noexcept {
  const std::uint64_t whole = total / pieces;
  const std::uint64_t longer = total % pieces;
  return {index * whole + (index < longer ? index : longer), whole + (index < longer ? 1 : 0)};
}

}  // namespace stretto::schedule
