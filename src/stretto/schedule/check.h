#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/schedule/verify.h"

/// The parts of verify(), in the order in which they run: each may rely on what those before it found right.
namespace stretto::schedule {

using Found = std::optional<Violation>;

Found violation(const Schedule& schedule, std::uint32_t step, const std::string& reason);
Found violation(Rank rank, const std::string& reason);

/// One rank's schedule by itself: form, successors, rounds, and a dependency for each conflict.
Found check_schedule(const Schedule& schedule, const Shape& shape, Rank rank);

/// A step of a rank.
struct StepAt {
  Rank rank = 0;
  std::uint32_t step = 0;
};

/// For each step of each rank the other end of its message; unused for reduce and copy.
using Links = std::vector<std::vector<StepAt>>;

/// Finds each send its receive, and fills `links`.
Found match_messages(std::span<const Schedule> schedules, Links& links);

/// Fills `order` with all steps in an order that can happen even where a send completes only together with its receive,
/// and a rank's receives one after another: dependencies first, each send directly before its receive. Where there is
/// none, it finds the deadlock.
Found find_order(std::span<const Schedule> schedules, const Links& links, std::vector<StepAt>& order);

/// How blocks lie in memory.
struct Layout {
  bool in_place = false;      ///< input and output share memory where a rank has both
  bool equal_blocks = false;  ///< all blocks are equally long
};

/// Runs all steps in `order` on symbols instead of data, and looks at what the receivers have in the end. When input
/// and output are apart, it also finds what is written in vain.
Found run_on_symbols(std::span<const Schedule> schedules, const Shape& shape, const Links& links,
                     std::span<const StepAt> order, Layout layout);

/// Follows a barrier's messages in `order`: in the end every rank must have heard of every other.
Found run_barrier(std::span<const Schedule> schedules, const Shape& shape, const Links& links,
                  std::span<const StepAt> order);

}  // namespace stretto::schedule
