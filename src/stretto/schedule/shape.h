#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/schedule/hosts.h"
#include "stretto/schedule/rank.h"

namespace stretto::schedule {

enum class Operation : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  allgather,
  gather,
  scatter,
  reduce_scatter,
  all_to_all,
  scan,            ///< rank r gets the combination of ranks 0 to r
  exscan,          ///< rank r gets the combination of ranks 0 to r - 1, and rank 0 nothing
  general_reduce,  ///< some ranks contribute, and some, of these or others, receive; see Shape::contributors
};

/// The stable lower-case name of `operation`, for example "allreduce".
std::string_view name_of(Operation operation) noexcept;

/// Everything about a collective operation that its message pattern may depend on.
struct Shape {
  Operation operation = Operation::allreduce;
  Rank size = 1;
  Rank root = 0;              ///< broadcast, scatter: who gives; reduce, gather: who receives; otherwise 0
  std::uint32_t blocks = 1;   ///< pieces of the vector where the operation cuts one (cuts_vector); otherwise 1
  bool commutative = true;    ///< the operator's terms may change places; true where there is no operator
  bool reproducible = false;  ///< terms are combined in the canonical tree (canonical.h); REQUIRES: !commutative

  /// general_reduce: ranks 0 to contributors - 1 contribute (P in the Aspen paper, whose participants they are). The
  /// first `inner_receivers` of them receive (R_p), and all ranks that do not contribute (R_np). Otherwise 0.
  Rank contributors = 0;
  Rank inner_receivers = 0;

  /// allreduce: so many ranks, the last ones, neither contribute nor receive, but may help. Otherwise 0.
  Rank auxiliaries = 0;

  /// On which host each rank is, where schedules are to go by it.
  Hosts hosts = {};

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

/// The shape with each kind of operator: its terms may change places; they may not; they are combined in the canonical
/// tree.
std::array<Shape, 3> with_operators(const Shape& plain) noexcept;

/// One line for people: "allreduce of 6 ranks", "reduce of 6 ranks to rank 2, in rank order".
std::string describe(const Shape& shape);

/// What is wrong with `shape` whatever the algorithm (no ranks, root out of range, ...); empty if nothing is.
std::string defect_of(const Shape& shape);

/// Whether the operation has a root: broadcast, reduce, gather, scatter.
bool has_root(Operation operation) noexcept;

/// Whether the operation has an operator: reduce, allreduce, reduce_scatter, scan, exscan, general_reduce.
bool is_reduction(Operation operation) noexcept;

/// Whether each rank's data is one vector, in Shape::blocks pieces: broadcast, and reductions but reduce_scatter. The
/// other operations but the barrier have a block for each rank, of any length each.
bool cuts_vector(Operation operation) noexcept;

/// Where a block lives. Input is only read; output exists only at receivers; scratch is private to the schedule.
enum class Buffer : std::uint8_t { input, output, scratch };

std::string_view name_of(Buffer buffer) noexcept;

/// `count` consecutive blocks of a buffer.
///
/// Where a vector is cut, block b of input and output is its b-th piece. Otherwise, at rank r:
///
///     operation        input                              output
///     allgather        block r                            block b came from rank b
///     gather           block r                            at the root: block b came from rank b
///     scatter          at the root: block b is for b      block r
///     reduce_scatter   block b is combined for rank b     block r, combined
///     all_to_all       block b is for rank b              block b came from rank b
///
/// Scratch slot s is as long as block s mod B of the whole vector of B = vector_blocks(shape) blocks, and each B slots
/// from a multiple of B lie as a vector does: runs of slots that do not cross a multiple of B are contiguous. So a
/// block moves only between places of its own index, unless an algorithm needs blocks of equal length
/// (Algorithm::needs_equal_blocks). Slots that no step touches need no memory.
///
/// A count of 0 is a message without data (a barrier's).
struct BlockRef {
  Buffer buffer = Buffer::input;
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  friend bool operator==(const BlockRef&, const BlockRef&) = default;
  /// Whether a block is in both.
  friend bool overlap(const BlockRef& a, const BlockRef& b) noexcept {
    return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
  }
};

/// Blocks of a whole vector: Shape::blocks where one is cut, size where there is a block for each rank, 1 for a
/// barrier.
std::uint32_t vector_blocks(const Shape& shape) noexcept;

/// Whether no rank has its result before all have begun: barrier, allreduce, allgather, reduce_scatter, all_to_all.
bool waits_for_all(Operation operation) noexcept;

/// Whether whoever has a result has it only when all others have begun, while some have none and need not wait: reduce,
/// gather, and a general_reduce of which at most one receiver does not participate.
bool is_given_by_all(const Shape& shape) noexcept;

/// Blocks in a rank's input: 0 where it contributes nothing (a broadcast's ranks other than the root).
std::uint32_t input_blocks(const Shape& shape, Rank me) noexcept;

/// Blocks in a rank's output: 0 where it receives nothing (a reduce's ranks other than the root, exscan's rank 0).
std::uint32_t output_blocks(const Shape& shape, Rank me) noexcept;

/// Which block of a whole vector lies at `place` of a buffer: the index by which its length is known. Of an all_to_all,
/// whose blocks' lengths depend on both ends, the other end's rank.
std::uint32_t block_at(const Shape& shape, Rank me, Buffer buffer, std::uint32_t place) noexcept;

/// Ranks that contribute to the result of a reduction: 0 to contributing_ranks - 1.
Rank contributing_ranks(const Shape& shape) noexcept;

/// Whether the operation owes `me` something: a result, or, for a barrier, the right to go on.
bool is_receiver(const Shape& shape, Rank me) noexcept;

/// Whether schedules must bear input and output in place: those of all operations but all_to_all. There, what arrives
/// could overwrite what is still to be sent, so input that is given in place is copied first.
bool may_be_in_place(Operation operation) noexcept;

/// In place, input block b is the same memory as output block b + in_place_offset, where there are both. A scatter's
/// and a reduce_scatter's output lies in the input, so there the offset is not above 0; otherwise it is not below.
std::int64_t in_place_offset(const Shape& shape, Rank me) noexcept;

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
