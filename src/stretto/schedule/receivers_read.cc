#include "stretto/schedule/receivers_read.h"

namespace stretto::schedule {
namespace {

// Of two ranks: what is more is copied by two cores in less time than by one, which has its own block to copy.
constexpr std::uint64_t most_gathered_by_reading = std::uint64_t{256} << 10U;

}  // namespace

bool receivers_read(const Shape& shape, std::uint64_t bytes) noexcept {
  switch (shape.operation) {
    case Operation::broadcast:
    case Operation::scatter: return true;
    case Operation::exscan: return shape.size == 2;
    case Operation::gather: return shape.size == 2 && bytes <= most_gathered_by_reading && !shape.hosts.are_known();
    case Operation::all_to_all:
    case Operation::allgather: return !shape.hosts.are_known();
    default: return false;
  }
}

bool is_exchange(const Shape& shape) noexcept {
  const bool is_one = shape.operation == Operation::allgather || shape.operation == Operation::all_to_all;
  return is_one && !shape.hosts.are_known();
}

}  // namespace stretto::schedule
