#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// A run of ranks, [first, end).
struct RankRun {
  Rank first = 0;
  Rank end = 0;

  friend auto operator<=>(const RankRun&, const RankRun&) = default;
};

/// What a block holds in a symbolic run: which ranks' contributions to which block, combined in which order.
struct Contribution {
  std::uint32_t block = 0;    ///< its index in a whole vector; of an all_to_all, the rank that it is for
  std::vector<RankRun> runs;  ///< in the order of combination; of a commutative operator sorted, and runs that touch
                              ///< joined
  std::string tree;           ///< where trees count: how they were combined, "(0 1) 2"

  friend auto operator<=>(const Contribution&, const Contribution&) = default;
};

std::string describe(const Contribution& contribution);

/// Names contributions by small numbers, so that a symbolic run copies numbers, not lists. Number 0 is *unset*.
/// Owned by one verification; not for several threads.
class ContributionTable {
 public:
  using Id = std::uint32_t;
  static constexpr Id unset = 0;

  /// What makes two contributions of the same ranks different.
  enum class Counts : std::uint8_t { nothing, order, tree };

  explicit ContributionTable(Counts counts);

  /// One rank's, or those of `run`, combined in rank order, and where trees count in the canonical one.
  /// REQUIRES: run.first < run.end, or that trees do not count.
  Id of(std::uint32_t block, RankRun run);
  /// `left` (+) `right`; if they cannot be combined, none, and `reason` says why.
  std::optional<Id> combine(Id left, Id right, std::string& reason);
  const Contribution& operator[](Id id) const noexcept { return *contributions_[id]; }

 private:
  Id intern(Contribution contribution);

  Counts counts_;
  std::map<Contribution, Id> ids_;
  std::vector<const Contribution*> contributions_;  ///< keys of `ids_`, which stay where they are
  std::map<std::pair<Id, Id>, Id> combined_;
};

}  // namespace stretto::schedule
