#pragma once

#include "stretto/schedule/builder.h"

namespace stretto::schedule {

/// The two halves of what one rank does with a vector on a ring: reduce-scatter, then allgather. Each rank owns
/// `segments` blocks in a row, the first rank the first ones; each half takes P - 1 turns of as many rounds, and a
/// round moves one segment from each rank to the next one.
///
/// In the reduce-scatter a partial sum of each segment starts behind its owner and ends at it, each rank on the way
/// adding its input; it lies in the scratch slot of its block, and in the end in the output. In the allgather the
/// owners' segments go round once more. REQUIRES: more than one rank; an operator that commutes.
class Ring {
 public:
  /// The first of the rank's own segments ends in output block `result`.
  Ring(const Shape& shape, Rank me, std::uint32_t segments, std::uint32_t result) noexcept
      : size_(shape.size), me_(me), segments_(segments), result_(result) {}

  /// Of each half. REQUIRES, below: round < rounds().
  std::uint32_t rounds() const noexcept { return (size_ - 1) * segments_; }

  void send_partial(Sink& sink, std::uint32_t round) const;
  void receive_partial(Sink& sink, std::uint32_t round) const;
  /// Adds the own input to what receive_partial took in `round`.
  void combine(Sink& sink, std::uint32_t round) const;

  void send_result(Sink& sink, std::uint32_t round) const;
  void receive_result(Sink& sink, std::uint32_t round) const;

 private:
  /// The segment of `round` that belongs to the rank so many places before this one.
  std::uint32_t segment(Rank places, std::uint32_t round) const {
    return before(me_, places, size_) * segments_ + round % segments_;
  }

  Rank size_;
  Rank me_;
  std::uint32_t segments_;
  std::uint32_t result_;
};

}  // namespace stretto::schedule
