#include "stretto/schedule/algorithm/double_tree_broadcast.h"

#include <array>
#include <bit>
#include <vector>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// A place in the first tree of `count` ranks, numbered from 1 in order; 0 is the root of the broadcast, above the
/// tree.
struct Place {
  Rank parent = 0;
  std::vector<Rank> children;
  std::uint32_t depth = 0;  ///< steps from the root of the broadcast
};

/// The top of the tree of ranks `first` to `last`: its left side is complete.
Rank top_of(Rank first, Rank last) { return first - 1 + std::bit_floor(last - first + 1); }

Place place_of(Rank number, Rank count) {
  if (number == 0) return {.parent = 0, .children = {top_of(1, count)}, .depth = 0};
  Place place{.parent = 0, .children = {}, .depth = 1};
  Rank first = 1;
  Rank last = count;
  Rank top = top_of(first, last);
  while (top != number) {
    place.parent = top;
    ++place.depth;
    if (number < top) {
      last = top - 1;
    } else {
      first = top + 1;
    }
    top = top_of(first, last);
  }
  if (first < top) place.children.push_back(top_of(first, top - 1));
  if (top < last) place.children.push_back(top_of(top + 1, last));
  return place;
}

/// The number in the first tree of the one who has `v`'s place in tree `tree`, and back.
Rank number_of(Rank v, std::uint32_t tree, Rank count) {
  if (v == 0 || tree == 0) return v;
  return count % 2 == 0 ? count + 1 - v : v % count + 1;
}
Rank v_of(Rank number, std::uint32_t tree, Rank count) {
  if (number == 0 || tree == 0) return number;
  return count % 2 == 0 ? count + 1 - number : (number + count - 2) % count + 1;
}

}  // namespace

std::string_view DoubleTreeBroadcast::source() const noexcept {
  return "Sanders, Speck and Traeff, \"Two-tree algorithms for full bandwidth broadcast, reduction and scan\", "
         "Parallel Computing 35(12), 2009";
}

std::uint32_t DoubleTreeBroadcast::rounds(const Shape& shape) const {
  if (shape.size == 1) return 1;  // the local copy
  return static_cast<std::uint32_t>(std::bit_width(shape.size - 1)) - 1 + shape.blocks / 2;
}

void DoubleTreeBroadcast::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const bool is_root = me == shape.root;
  if (is_root && round + 1 == rounds(shape)) sink.copy(input(0, shape.blocks), output(0, shape.blocks));
  if (shape.size == 1) return;
  const Rank others = shape.size - 1;
  const std::uint32_t segments = shape.blocks / 2;
  const Rank v = before(me, shape.root, shape.size);
  const std::array<Place, 2> places{place_of(number_of(v, 0, others), others),
                                    place_of(number_of(v, 1, others), others)};
  for (std::uint32_t tree = 0; tree < 2; ++tree) {
    const std::uint32_t segment = round - places[tree].depth;
    if (round < places[tree].depth || segment >= segments) continue;
    for (const Rank child : places[tree].children) {
      const BlockRef held{is_root ? Buffer::input : Buffer::output, tree * segments + segment};
      sink.send(after(v_of(child, tree, others), shape.root, shape.size), held);
    }
  }
  for (std::uint32_t tree = 0; tree < 2; ++tree) {
    const std::uint32_t segment = round + 1 - places[tree].depth;
    if (is_root || round + 1 < places[tree].depth || segment >= segments) continue;
    const Rank parent = v_of(places[tree].parent, tree, others);
    sink.receive(after(parent, shape.root, shape.size), output(tree * segments + segment));
  }
}

Blocking DoubleTreeBroadcast::blocking(const Shape& shape) const {
  return {.unit = shape.size == 1 ? 1U : 2U, .most_segments = Blocking::many};
}

}  // namespace stretto::schedule
