#include "stretto/schedule/shape.h"

namespace stretto::schedule {
namespace {

bool is_reduction(Operation operation) noexcept {
  return operation == Operation::reduce || operation == Operation::allreduce;
}

bool has_root(Operation operation) noexcept {
  return operation == Operation::broadcast || operation == Operation::reduce;
}

}  // namespace

std::string_view name_of(Operation operation) noexcept {
  switch (operation) {
    case Operation::barrier: return "barrier";
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    case Operation::allreduce: return "allreduce";
    case Operation::allgather: return "allgather";
  }
  return "unknown";
}

std::string_view name_of(Buffer buffer) noexcept {
  switch (buffer) {
    case Buffer::input: return "input";
    case Buffer::output: return "output";
    case Buffer::scratch: return "scratch";
  }
  return "unknown";
}

std::string describe(const Shape& shape) {
  std::string text(name_of(shape.operation));
  text += " of " + std::to_string(shape.size) + (shape.size == 1 ? " rank" : " ranks");
  if (shape.operation == Operation::broadcast) text += " from rank " + std::to_string(shape.root);
  if (shape.operation == Operation::reduce) text += " to rank " + std::to_string(shape.root);
  if (shape.blocks != 1) text += " in " + std::to_string(shape.blocks) + " blocks";
  if (!shape.commutative) text += ", in rank order";
  return text;
}

std::string defect_of(const Shape& shape) {
  if (shape.size == 0) return "a group has at least one rank; size is 0";
  if (shape.size > max_size) {
    return "a group has at most " + std::to_string(max_size) + " ranks; size is " + std::to_string(shape.size);
  }
  if (shape.root >= shape.size) {
    return "root " + std::to_string(shape.root) + " is not a rank of a group of " + std::to_string(shape.size);
  }
  if (shape.root != 0 && !has_root(shape.operation)) {
    return "an operation without a root, " + std::string(name_of(shape.operation)) + ", has root 0, not " +
           std::to_string(shape.root);
  }
  if (shape.blocks == 0) return "a vector has at least one block; blocks is 0";
  if (shape.blocks != 1 && !is_reduction(shape.operation) && shape.operation != Operation::broadcast) {
    return "blocks cut the vector of a broadcast, reduce or allreduce; for this operation it must be 1, not " +
           std::to_string(shape.blocks);
  }
  if (!shape.commutative && !is_reduction(shape.operation)) {
    return "an operation without an operator, " + std::string(name_of(shape.operation)) +
           ", has nothing to keep in order; commutative must be true";
  }
  return {};
}

std::uint32_t input_blocks(const Shape& shape, Rank me) noexcept {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::broadcast: return me == shape.root ? shape.blocks : 0;
    case Operation::reduce:
    case Operation::allreduce: return shape.blocks;
    case Operation::allgather: return 1;
  }
  return 0;
}

std::uint32_t output_blocks(const Shape& shape, Rank me) noexcept {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::reduce: return me == shape.root ? shape.blocks : 0;
    case Operation::broadcast:
    case Operation::allreduce: return shape.blocks;
    case Operation::allgather: return shape.size;
  }
  return 0;
}

bool is_receiver(const Shape& shape, Rank me) noexcept {
  return shape.operation != Operation::reduce || me == shape.root;
}

std::uint32_t in_place_offset(const Shape& shape, Rank me) noexcept {
  return shape.operation == Operation::allgather ? me : 0;
}

}  // namespace stretto::schedule
