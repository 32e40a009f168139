#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stretto::program {

/// Minimum, maximum and sum of durations in seconds: of one node, or, combined, of many.
struct Tally {
  static Tally of(std::span<const double> seconds);

  void add(double seconds);
  /// REQUIRES: count > 0.
  double mean() const { return sum / static_cast<double>(count); }

  double minimum = 0;
  double maximum = 0;
  double sum = 0;
  std::uint64_t count = 0;
};

/// An operator for reductions: as if the durations of both had been one node's. REQUIRES: neither is empty.
struct CombineTallies {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  Tally operator()(const Tally& a, const Tally& b) const noexcept;
};

/// For people: the line above a table of tallies, and a tally's line in it. Each ends its line.
std::string table_head();
std::string table_row(const std::string& name, const Tally& tally);

}  // namespace stretto::program
