#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

namespace stretto {

/// Which workers are at rest, and which one is woken where there is work. Pure; guarded by its owner.
class Beds {
 public:
  /// A worker that naps has found that others come to their work before it would be worth taking (see Nap).
  enum class Rest : std::uint8_t { none, nap, sleep };
  /// Who may be woken.
  enum class Whom : std::uint8_t { sleepers, all };

  explicit Beds(std::size_t workers) : rest_(workers, Rest::none) {}

  /// REQUIRES: it is up.
  void lie_down(std::size_t worker, Rest rest) { rest_[worker] = rest; }
  /// Whoever wakes up by itself gets up, too. Returns whether it was at rest: nobody has woken it before.
  bool get_up(std::size_t worker) {
    const bool was_at_rest = rest_[worker] != Rest::none;
    rest_[worker] = Rest::none;
    return was_at_rest;
  }
  /// Gets one up, if any is at rest: a sleeper rather than one that naps.
  std::optional<std::size_t> wake_one(Whom whom) {
    auto found = std::find(rest_.begin(), rest_.end(), Rest::sleep);
    if (found == rest_.end() && whom == Whom::all) found = std::find(rest_.begin(), rest_.end(), Rest::nap);
    if (found == rest_.end()) return std::nullopt;
    *found = Rest::none;
    return static_cast<std::size_t>(std::distance(rest_.begin(), found));
  }

 private:
  std::vector<Rest> rest_;  // by worker
};

}  // namespace stretto
