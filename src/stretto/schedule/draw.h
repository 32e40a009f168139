#pragma once

#include <cstdint>
#include <string>

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// The largest group that is drawn; up to about 32 ranks a picture is easy to read.
inline constexpr Rank max_drawn_size = 128;
/// The most rounds times ranks: a picture of some ten megabytes, which no viewer likes.
inline constexpr std::uint64_t max_drawn_places = std::uint64_t{1} << 17U;

/// A picture of the rounds as a complete SVG document: ranks are lanes, time runs down, each message is one arrow.
/// Throws Error(invalid_argument) if the algorithm refuses the shape, the group is larger than max_drawn_size, or there
/// are more rounds times ranks than max_drawn_places.
std::string draw_svg(const Algorithm& algorithm, const Shape& shape);

/// The same picture as a graph in the DOT language, for Graphviz: node rR_K is rank R before round K.
/// Throws as draw_svg does.
std::string draw_dot(const Algorithm& algorithm, const Shape& shape);

}  // namespace stretto::schedule
