#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

enum class StepKind : std::uint8_t {
  send,     ///< reads `source`, to `peer`; complete when `source` may be overwritten
  receive,  ///< writes `destination`, from `peer`
  reduce,   ///< combines `source` into `destination`
  copy,     ///< writes `destination` with `source`
};

std::string_view name_of(StepKind kind) noexcept;

/// The order of a reduction's terms. Algorithms choose it so that terms stay in rank order.
enum class Order : std::uint8_t {
  destination_first,  ///< destination = destination (+) source
  source_first,       ///< destination = source (+) destination
};

/// One step of one rank's schedule. Compact, since a ring has two of them for each rank of its group.
struct Step {
  StepKind kind = StepKind::send;
  Order order = Order::destination_first;     ///< reduce only
  Buffer source_buffer = Buffer::input;       ///< send, reduce, copy
  Buffer destination_buffer = Buffer::input;  ///< receive, reduce, copy
  Rank peer = 0;                              ///< send: to whom; receive: from whom
  std::uint32_t source_first = 0;
  std::uint32_t destination_first = 0;
  std::uint32_t count = 0;              ///< blocks, the same in source and destination
  std::uint32_t tag = 0;                ///< ordinal of the message on its directed edge, the same at both ends
  std::uint32_t dependency_offset = 0;  ///< into Schedule::dependencies
  std::uint32_t dependency_count = 0;   ///< local steps that must complete before this one may start

  BlockRef source() const noexcept { return {source_buffer, source_first, count}; }
  BlockRef destination() const noexcept { return {destination_buffer, destination_first, count}; }
  bool is_message() const noexcept { return kind == StepKind::send || kind == StepKind::receive; }
};
static_assert(sizeof(Step) == 32, "a schedule's steps are meant to be scanned, two to a cache line");

/// "send output[0..3] to 5 as #2": one step for people.
std::string describe(const Step& step);

/// One rank's part of a collective: steps in program order with the local dependencies between them.
///
/// Pure data, immutable once materialised, and free of addresses: it may be cached and shared between threads. A step
/// may start when its dependencies are complete; nothing else orders it, so the network may deliver in any order: a
/// receive takes the message with its (peer, tag). The rank is done when all of its steps are complete. To run it in
/// time linear in its steps: count down `dependency_count` of each step, and on completion visit `successors_of`.
struct Schedule {
  Shape shape;
  Rank me = 0;
  std::uint32_t scratch_blocks = 0;              ///< slots that this rank needs; see BlockRef for their lengths
  std::vector<Step> steps;                       ///< a step depends on earlier ones only
  std::vector<std::uint32_t> dependencies;       ///< indices of steps; see Step::dependency_offset
  std::vector<std::uint32_t> successors;         ///< the same edges in the other direction
  std::vector<std::uint32_t> successor_offsets;  ///< steps.size() + 1 offsets into `successors`
  std::vector<std::uint32_t> round_offsets;      ///< rounds + 1 offsets into `steps`

  std::span<const std::uint32_t> dependencies_of(std::size_t step) const noexcept {
    return std::span(dependencies).subspan(steps[step].dependency_offset, steps[step].dependency_count);
  }
  std::span<const std::uint32_t> successors_of(std::size_t step) const noexcept {
    const std::size_t first = successor_offsets[step];
    return std::span(successors).subspan(first, successor_offsets[step + 1] - first);
  }
  std::uint32_t rounds() const noexcept {
    return round_offsets.empty() ? 0 : static_cast<std::uint32_t>(round_offsets.size() - 1);
  }
};

/// Whether `step` copies a rank's input to the very place where it lies when the caller passes input and output in
/// place: such a step may then be completed without being done.
/// REQUIRES: `step` belongs to a schedule of `shape` for `me`.
bool is_identity_in_place(const Shape& shape, Rank me, const Step& step) noexcept;

}  // namespace stretto::schedule
