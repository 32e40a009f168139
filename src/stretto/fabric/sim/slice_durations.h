#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::fabric {

/// How long each slice of each node's tasks took, in nanoseconds and in the order in which the slices ended there.
/// A slice is what a task does from where it begins or goes on until it ends, waits or charges.
using SliceDurations = std::vector<std::vector<std::int64_t>>;

/// The most that all slices of a recording may take together, so that virtual time never overflows: 11 days.
inline constexpr std::int64_t most_slice_nanoseconds = 1'000'000'000'000'000;

/// The text of a recording, one item a line:
///
///     stretto-slice-durations 1     the format and its version
///     nodes 2                       of the job
///     node 0 slices 2               for each node, as many durations, in nanoseconds
///     1250
///     800
///     node 1 slices 0
///     end
std::string to_text(const SliceDurations& durations);

/// Reads such a text, recorded on `nodes` nodes. Throws Error(bad_input), which begins with `name` and says what is
/// wrong in which line.
SliceDurations parse_slice_durations(std::string_view text, std::uint32_t nodes, const std::string& name);

}  // namespace stretto::fabric
