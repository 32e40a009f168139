#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/in_place.h"
#include "stretto/schedule/lending_limits.h"

namespace stretto::schedule {

/// How data get to who needs them in the first round.
enum class Way : std::uint8_t {
  sent,
  granted,  ///< read where they lie at the sender, which waits for that
  lent,     ///< the same, but the sender goes on
};

/// Which ranks read in the first round what they are given where it lies at its sender, to combine it or, where it is
/// lent, to copy it.
class Readers {
 public:
  /// `all`: each rank is looked at. Otherwise one of each class stands for it; but where there are hosts, whose ranks
  /// differ more, each is looked at as long as that takes no more than `most_steps` in all.
  Readers(const Algorithm& algorithm, const Shape& shape, const LendingLimits& limits, bool all,
          std::uint64_t most_steps)
      : algorithm_(algorithm),
        shape_(shape),
        limits_(limits),
        most_looked_at_(all ? ~std::uint64_t{0} : most_steps),
        known_(classes + (all || shape.hosts.are_known() ? shape.size : 0), unknown) {}

  /// How that rank comes by so many bytes.
  Way way_to(Rank rank, std::uint64_t bytes) {
    if (bytes <= limits_.most_sent) return Way::sent;
    std::uint8_t& known = known_[place_of(rank)];
    if (known == unknown) known = look(rank);
    if (known == lends || known == lends_copies) {
      return limits_.include(bytes, known == lends) ? Way::lent : Way::sent;
    }
    return known == reads && bytes > most_inline_bytes ? Way::granted : Way::sent;
  }

 private:
  enum : std::uint8_t { unknown, neither, reads, lends, lends_copies };
  static constexpr Rank classes = 4;

  /// Its own place, or that of its class. The last rank of a scan has nobody to give to, and so differs from others.
  std::size_t place_of(Rank rank) const {
    if (known_.size() > classes) {
      const std::size_t own = classes + std::size_t{rank};
      if (known_[own] != unknown || looked_at_ <= most_looked_at_ || rank + 1 == shape_.size) return own;
    }
    if (rank == shape_.root) return 0;
    if (rank == 0) return 1;
    return rank < contributing_ranks(shape_) ? 2 : 3;
  }

  std::uint8_t look(Rank rank) {
    const Round round(algorithm_, shape_, rank, 0);
    looked_at_ += round.steps().size();
    if (round.lends_copies()) return lends_copies;
    for (std::size_t at = 0; at < round.steps().size(); ++at) {
      if (round[at].kind != StepKind::receive) continue;
      if (round.reader_of(at) == Round::none) return neither;
      return round.lends() ? lends : reads;  // who lends is lent something
    }
    return neither;
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  const LendingLimits limits_;
  const std::uint64_t most_looked_at_;  ///< steps
  std::uint64_t looked_at_ = 0;         ///< steps
  std::vector<std::uint8_t> known_;     ///< by class, and then by rank where ranks may be looked at
};

}  // namespace stretto::schedule
