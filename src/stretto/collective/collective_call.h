#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/collective/reduction.h"
#include "stretto/schedule/shape.h"

namespace stretto {

/// A collective operation without its types: what the functions of collective.h hand to the executor.
struct CollectiveCall {
  schedule::Operation operation = schedule::Operation::barrier;
  ConstByteSpan input;
  ByteSpan output;
  std::size_t element_bytes = 1;
  std::uint64_t type_digest = 0;
  schedule::Rank root = 0;
  Reduction reduction;
  std::vector<ConstByteSpan> shards;  ///< further inputs of this node, to be combined after `input`, in order
  std::shared_ptr<void> keep_alive;   ///< owns the buffers, if the caller does not
};

/// Of the vector that is reduced or broadcast, or of one member's part of an allgather.
inline std::size_t bytes_of_vector(const CollectiveCall& call) {
  const bool gives = call.reduction.combine != nullptr || call.operation == schedule::Operation::allgather;
  return gives ? call.input.size() : call.output.size();
}

/// The shape of the schedules that can serve a call of a group of `size`.
inline schedule::Shape shape_of(const CollectiveCall& call, schedule::Rank size) {
  schedule::Shape shape;
  shape.operation = call.operation;
  shape.size = size;
  shape.root = call.root;
  shape.commutative = call.reduction.commutative;
  return shape;
}

}  // namespace stretto
