#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace stretto {

/// The least number of single-character insertions, deletions, replacements and swaps of neighbours that turn `a` into
/// `b` (optimal string alignment). Takes O(a.size() * b.size()).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, the first of equals; empty when none is near enough to be what was meant (further
/// than a third of the name's length, and than 2). For "did you mean ...?".
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace stretto
