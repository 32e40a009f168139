#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/core/node.h"

// What all actions of the probe share: what they say, what they check, and the words that nodes contribute.
namespace stretto::probe {

using Words = std::vector<std::uint64_t>;
using Arguments = std::vector<std::string>;

inline constexpr std::array<std::size_t, 6> word_counts = {1, 8, 128, 1024, 8192, 131'072};  // 8 B to 1 MiB

/// A line to stdout in one write, so that lines of different processes never mix.
void say(std::string line);
void say(const Node& node, const std::string& text);
/// Throws where that does not hold.
void check(bool holds, const std::string& what);
/// The code of the event's cause. Throws where it triggers clean.
ErrorCode code_of(Event event);

NodeId next_of(const Node& node);
NodeId last_of(const Node& node);
/// What node `node` contributes, in a round of its own.
Words words_of(NodeId node, std::size_t count, std::uint64_t round);
/// What nodes 0 to `nodes` - 1 contribute to that round, added up.
Words sum_of_words(std::uint64_t nodes, std::size_t count, std::uint64_t round);

}  // namespace stretto::probe
