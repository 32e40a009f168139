#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stretto/schedule/rank.h"

namespace stretto::schedule {

/// On which host each rank of a group is: what schedules that are composed of some inside the hosts and some between
/// them go by. By default it is not known, or does not matter.
///
/// A value, for any thread; copies share the list, and one that is not known costs nothing. Hosts are numbered from 0
/// in the order of their first ranks. One level: processes inside a host would be Hosts of a host's members.
class Hosts {
 public:
  Hosts() = default;
  /// Rank r is on host `host_of[r]`: any numbers, which only have to differ. REQUIRES: host_of is not empty.
  explicit Hosts(std::span<const std::uint32_t> host_of);
  /// `ranks` in order on so many hosts, as evenly as can be, the fuller hosts first.
  /// REQUIRES: 0 < hosts <= ranks.
  static Hosts even(Rank ranks, Rank hosts);

  bool are_known() const noexcept { return list_ != nullptr; }

  // REQUIRE: they are known; rank < ranks(), host < count().

  Rank ranks() const noexcept { return static_cast<Rank>(list_->host_of.size()); }
  Rank count() const noexcept { return static_cast<Rank>(list_->offsets.size() - 1); }
  std::uint32_t of(Rank rank) const noexcept { return list_->host_of[rank]; }
  /// The ranks of a host, in order.
  std::span<const Rank> members(std::uint32_t host) const noexcept {
    return std::span(list_->members).subspan(list_->offsets[host], list_->offsets[host + 1] - list_->offsets[host]);
  }
  /// The place of a rank among the members of its host.
  Rank place(Rank rank) const noexcept { return list_->places[rank]; }
  /// Members of the hosts that have the fewest and the most.
  Rank fewest() const noexcept { return list_->fewest; }
  Rank most() const noexcept { return list_->most; }
  /// Whether each host's members follow one another.
  bool are_in_order() const noexcept { return list_->in_order; }
  /// Whether each host is a node of the canonical tree (canonical.h): in order, as many ranks of one power of two on
  /// each, and on the last no more.
  bool are_aligned() const noexcept { return list_->aligned; }
  /// Whether there are several hosts, and several ranks on one of them: otherwise all links are alike.
  bool are_nested() const noexcept { return count() > 1 && most() > 1; }
  /// The hosts of the first so many ranks. REQUIRES: 0 < count <= ranks().
  Hosts first(Rank count) const;

  /// By what is in the lists.
  friend bool operator==(const Hosts& a, const Hosts& b) noexcept {
    return a.list_ == b.list_ || (a <=> b) == std::strong_ordering::equal;
  }
  friend std::strong_ordering operator<=>(const Hosts& a, const Hosts& b) noexcept;

 private:
  struct List {
    std::vector<std::uint32_t> host_of;  // by rank
    std::vector<Rank> places;            // by rank
    std::vector<Rank> members;           // by host, then rank
    std::vector<Rank> offsets;           // of each host into `members`, and the end
    Rank fewest = 0;
    Rank most = 0;
    bool in_order = false;
    bool aligned = false;
  };

  std::shared_ptr<const List> list_;
};

}  // namespace stretto::schedule
