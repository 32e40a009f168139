#include "stretto/schedule/algorithm/van_de_geijn_broadcast.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// Whether `v` has `block` since the scatter.
bool is_scattered_to(const Shape& shape, Rank v, std::uint32_t block) {
  const Rank subtree = v == 0 ? shape.size : v & (~v + 1);
  return block >= v && block - v < subtree;
}

void scatter(Sink& sink, const Shape& shape, Rank me, Rank distance) {
  const Rank v = before(me, shape.root, shape.size);
  if (v % (2 * distance) == 0 && distance < shape.size - v) {
    const std::uint32_t count = std::min(distance, shape.size - v - distance);
    sink.send(after(me, distance, shape.size), v == 0 ? input(distance, count) : output(v + distance, count));
  }
  if (v % (2 * distance) == distance) {
    sink.receive(before(me, distance, shape.size), output(v, std::min(distance, shape.size - v)));
  }
}

void pass_on(Sink& sink, const Shape& shape, Rank me, std::uint32_t round) {
  const Rank v = before(me, shape.root, shape.size);
  const std::uint32_t given = before(v, round, shape.size);
  const std::uint32_t taken = before(v, round + 1, shape.size);
  if (v + 1 < shape.size && !is_scattered_to(shape, v + 1, given)) {
    sink.send(after(me, 1, shape.size), v == 0 ? input(given) : output(given));
  }
  if (v > 0 && !is_scattered_to(shape, v, taken)) sink.receive(before(me, 1, shape.size), output(taken));
}

}  // namespace

std::string_view VanDeGeijnBroadcast::source() const noexcept {
  return "Thakur, Rabenseifner and Gropp, \"Optimization of collective communication operations in MPICH\", "
         "IJHPCA 19(1), 2005, on broadcast";
}

std::uint32_t VanDeGeijnBroadcast::rounds(const Shape& shape) const {
  return shape.size == 1 ? 1 : doublings(shape.size) + shape.size - 1;
}

void VanDeGeijnBroadcast::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const std::uint32_t scatter_rounds = doublings(shape.size);
  if (round < scatter_rounds) {
    scatter(sink, shape, me, Rank{1} << (scatter_rounds - 1 - round));
  } else if (shape.size > 1) {
    pass_on(sink, shape, me, round - scatter_rounds);
  }
  if (me == shape.root && round + 1 == rounds(shape)) sink.copy(input(0, shape.blocks), output(0, shape.blocks));
}

}  // namespace stretto::schedule
