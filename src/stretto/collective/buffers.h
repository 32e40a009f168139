#pragma once

#include <concepts>
#include <ranges>
#include <type_traits>

#include "stretto/collective/reduction.h"

/// What callers of collectives may pass as the memory of their data.
namespace stretto {

/// Elements side by side: std::vector, std::array, SegmentArray, an array of the language, or a view (std::span) of
/// some. A collective is over later than its call, so the buffer has to stay: a temporary that owns its elements does
/// not compile.
template <class Range>
concept InputBuffer = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                      std::ranges::borrowed_range<Range> && Element<std::ranges::range_value_t<Range>>;

/// One that may be written to.
template <class Range>
concept OutputBuffer =
    InputBuffer<Range> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// What it has elements of.
template <InputBuffer Range>
using ElementOf = std::ranges::range_value_t<Range>;

/// Of the same elements as another one.
template <class Range, class Other>
concept InputBufferLike =
    InputBuffer<Range> && InputBuffer<Other> && std::same_as<std::ranges::range_value_t<Range>, ElementOf<Other>>;
template <class Range, class Other>
concept OutputBufferLike = OutputBuffer<Range> && InputBufferLike<Range, Other>;

/// Several buffers of one node, of the same elements as another one.
template <class Ranges, class Other>
concept BuffersLike =
    std::ranges::forward_range<Ranges> && InputBufferLike<std::ranges::range_reference_t<Ranges>, Other> &&
    (std::ranges::borrowed_range<Ranges> || std::ranges::borrowed_range<std::ranges::range_value_t<Ranges>>);

}  // namespace stretto
