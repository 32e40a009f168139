#include "stretto/schedule/shape.h"

#include <algorithm>

namespace stretto::schedule {

std::array<Shape, 3> with_operators(const Shape& plain) noexcept {
  std::array<Shape, 3> shapes{plain, plain, plain};
  for (Shape& shape : shapes) shape.commutative = shape.reproducible = false;
  shapes[0].commutative = true;
  shapes[2].reproducible = true;
  return shapes;
}

bool has_root(Operation operation) noexcept {
  return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::gather ||
         operation == Operation::scatter;
}

bool is_reduction(Operation operation) noexcept {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::reduce_scatter || operation == Operation::scan || operation == Operation::exscan ||
         operation == Operation::general_reduce;
}

bool waits_for_all(Operation operation) noexcept {
  return operation == Operation::barrier || operation == Operation::allreduce || operation == Operation::allgather ||
         operation == Operation::reduce_scatter || operation == Operation::all_to_all;
}

bool is_given_by_all(const Shape& shape) noexcept {
  if (shape.operation == Operation::general_reduce) return shape.size - shape.contributors <= 1;
  return shape.operation == Operation::reduce || shape.operation == Operation::gather;
}

bool cuts_vector(Operation operation) noexcept {
  return operation == Operation::broadcast || (is_reduction(operation) && operation != Operation::reduce_scatter);
}

std::string_view name_of(Operation operation) noexcept {
  switch (operation) {
    case Operation::barrier: return "barrier";
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    case Operation::allreduce: return "allreduce";
    case Operation::allgather: return "allgather";
    case Operation::gather: return "gather";
    case Operation::scatter: return "scatter";
    case Operation::reduce_scatter: return "reduce_scatter";
    case Operation::all_to_all: return "all_to_all";
    case Operation::scan: return "scan";
    case Operation::exscan: return "exscan";
    case Operation::general_reduce: return "general_reduce";
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
  if (has_root(shape.operation)) {
    const bool gives = shape.operation == Operation::broadcast || shape.operation == Operation::scatter;
    text += (gives ? " from rank " : " to rank ") + std::to_string(shape.root);
  }
  if (shape.operation == Operation::general_reduce) {
    const Rank outside = shape.size - std::min(shape.contributors, shape.size);
    text += ", the first " + std::to_string(shape.contributors) + " to the first " +
            std::to_string(shape.inner_receivers) + " and the last " + std::to_string(outside);
  }
  if (shape.auxiliaries != 0) text += ", the last " + std::to_string(shape.auxiliaries) + " auxiliary";
  if (shape.blocks != 1) text += " in " + std::to_string(shape.blocks) + " blocks";
  if (shape.hosts.are_known()) {
    text += ", on " + std::to_string(shape.hosts.count()) + (shape.hosts.count() == 1 ? " host" : " hosts");
  }
  if (shape.reproducible) {
    text += ", in the canonical tree";
  } else if (!shape.commutative) {
    text += ", in rank order";
  }
  return text;
}

namespace {

std::string defect_of_roles(const Shape& shape) {
  if (shape.operation != Operation::general_reduce) {
    if (shape.contributors == 0 && shape.inner_receivers == 0) return {};
    return "only a general_reduce says who contributes and receives; contributors and inner_receivers must be 0";
  }
  if (shape.contributors == 0 || shape.contributors > shape.size) {
    return "contributors must be from 1 to the size, " + std::to_string(shape.size) + ", not " +
           std::to_string(shape.contributors);
  }
  if (shape.inner_receivers > shape.contributors) {
    return "inner_receivers are some of the " + std::to_string(shape.contributors) + " contributors, not " +
           std::to_string(shape.inner_receivers);
  }
  if (shape.inner_receivers == 0 && shape.contributors == shape.size) return "nobody receives";
  return {};
}

}  // namespace

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
  if (shape.blocks != 1 && !cuts_vector(shape.operation)) {
    return "an operation that cuts no vector, " + std::string(name_of(shape.operation)) + ", has blocks 1, not " +
           std::to_string(shape.blocks);
  }
  if (!shape.commutative && !is_reduction(shape.operation)) {
    return "an operation without an operator, " + std::string(name_of(shape.operation)) +
           ", has nothing to keep in order; commutative must be true";
  }
  if (shape.reproducible && shape.commutative) {
    return "the canonical tree is in rank order; where reproducible is true, commutative must be false";
  }
  if (shape.auxiliaries != 0 && shape.operation != Operation::allreduce) {
    return "only an allreduce has auxiliaries; they must be 0";
  }
  if (shape.auxiliaries >= shape.size) return "of " + std::to_string(shape.size) + " ranks, all are auxiliary";
  if (shape.hosts.are_known() && shape.hosts.ranks() != shape.size) {
    return "the hosts are those of " + std::to_string(shape.hosts.ranks()) + " ranks, not of " +
           std::to_string(shape.size);
  }
  return defect_of_roles(shape);
}

std::uint32_t vector_blocks(const Shape& shape) noexcept {
  if (shape.operation == Operation::barrier) return 1;
  return cuts_vector(shape.operation) ? shape.blocks : shape.size;
}

std::uint32_t input_blocks(const Shape& shape, Rank me) noexcept {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::broadcast:
    case Operation::scatter: return me == shape.root ? vector_blocks(shape) : 0;
    case Operation::allgather:
    case Operation::gather: return 1;
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
    case Operation::scan:
    case Operation::exscan:
    case Operation::general_reduce: break;
  }
  return me < contributing_ranks(shape) ? vector_blocks(shape) : 0;
}

std::uint32_t output_blocks(const Shape& shape, Rank me) noexcept {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::scatter:
    case Operation::reduce_scatter: return 1;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::allgather:
    case Operation::gather:
    case Operation::all_to_all:
    case Operation::scan:
    case Operation::exscan:
    case Operation::general_reduce: break;
  }
  return is_receiver(shape, me) ? vector_blocks(shape) : 0;
}

std::uint32_t block_at(const Shape& shape, Rank me, Buffer buffer, std::uint32_t place) noexcept {
  if (buffer == Buffer::scratch) return place % vector_blocks(shape);
  const bool gathers = shape.operation == Operation::allgather || shape.operation == Operation::gather;
  const bool scatters = shape.operation == Operation::scatter || shape.operation == Operation::reduce_scatter;
  return (buffer == Buffer::input ? gathers : scatters) ? me : place;
}

Rank contributing_ranks(const Shape& shape) noexcept {
  return shape.operation == Operation::general_reduce ? shape.contributors : shape.size - shape.auxiliaries;
}

bool is_receiver(const Shape& shape, Rank me) noexcept {
  if (shape.operation == Operation::reduce || shape.operation == Operation::gather) return me == shape.root;
  if (shape.operation == Operation::general_reduce) return me < shape.inner_receivers || me >= shape.contributors;
  if (shape.operation == Operation::allreduce) return me < contributing_ranks(shape);
  return shape.operation != Operation::exscan || me != 0;
}

bool may_be_in_place(Operation operation) noexcept { return operation != Operation::all_to_all; }

std::int64_t in_place_offset(const Shape& shape, Rank me) noexcept {
  if (shape.operation == Operation::allgather || shape.operation == Operation::gather) return me;
  if (shape.operation == Operation::scatter || shape.operation == Operation::reduce_scatter) return -std::int64_t{me};
  return 0;
}

}  // namespace stretto::schedule
