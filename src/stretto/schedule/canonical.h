#pragma once

#include <bit>
#include <span>
#include <string>
#include <vector>

#include "stretto/schedule/schedule.h"

/// The canonical combine tree of an ordered group: in which brackets the terms of a reproducible reduction are
/// combined, so that each element of the result has the same bits whatever algorithm, vector length, cut and timing.
///
/// It is the aligned binary tree. Ranks first to end - 1 are split where the left part has as many ranks as the largest
/// power of two below their number, and the left part's terms are the left operand:
///
///     2 ranks   0 1                        6 ranks   ((0 1) (2 3)) (4 5)
///     3 ranks   (0 1) 2                    7 ranks   ((0 1) (2 3)) ((4 5) 6)
///     5 ranks   ((0 1) (2 3)) 4            9 ranks   (((0 1) (2 3)) ((4 5) (6 7))) 8
///
/// So every run of 2^k ranks from a multiple of 2^k on is a node of its own, in every group that has these ranks: the
/// first ranks' scans, and hosts with a power of two of ranks each, share the subtrees of the whole. Its depth is
/// ceil(log2 P). (Source: the tree of a butterfly, and of Ali, Pai and Midkiff, "Advanced collective communication in
/// Aspen", ICS 2008, Fig. 1, read with the lower rank on the left; the rule for other sizes is that of Merkle trees in
/// RFC 6962, section 2.1.)
///
/// Operands keep their places also where the operator commutes: min and max of zeros of both signs or of NaNs, and
/// operators of users, may commute in value and not in bits.
namespace stretto::schedule {

/// How many of `count` ranks are on the left of the tree's top. REQUIRES: count > 1.
constexpr Rank left_of(Rank count) noexcept { return std::bit_floor(count - 1); }

/// In which brackets each block of each rank's output is combined, by rank and place: "((0 1) 2) 3".
/// REQUIRES: verify() finds nothing wrong with the schedules, one for each rank of a reduction.
std::vector<std::vector<std::string>> combine_trees(std::span<const Schedule> schedules);

}  // namespace stretto::schedule
