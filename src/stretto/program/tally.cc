#include "stretto/program/tally.h"

#include <algorithm>
#include <cstdio>

#include "stretto/base/units.h"

namespace stretto::program {
namespace {

std::string row(const std::string& name, const std::string& minimum, const std::string& mean,
                const std::string& maximum) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-18s%14s%14s%14s\n", name.c_str(), minimum.c_str(), mean.c_str(),
                maximum.c_str());
  return line;
}

}  // namespace

Tally Tally::of(std::span<const double> seconds) {
  Tally tally;
  for (const double each : seconds) tally.add(each);
  return tally;
}

void Tally::add(double seconds) {
  const Tally one{seconds, seconds, seconds, 1};
  *this = count == 0 ? one : CombineTallies()(*this, one);
}

Tally CombineTallies::operator()(const Tally& a, const Tally& b) const noexcept {
  return {std::min(a.minimum, b.minimum), std::max(a.maximum, b.maximum), a.sum + b.sum, a.count + b.count};
}

std::string table_head() { return row("", "minimum", "mean", "maximum"); }

std::string table_row(const std::string& name, const Tally& tally) {
  return row(name, format_duration(tally.minimum), format_duration(tally.mean()), format_duration(tally.maximum));
}

}  // namespace stretto::program
