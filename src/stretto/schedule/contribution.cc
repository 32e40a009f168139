#include "stretto/schedule/contribution.h"

#include <algorithm>

namespace stretto::schedule {
namespace {

/// Appends `run`, joined to the last one if it goes on where that ends.
void append(std::vector<RankRun>& runs, RankRun run) {
  if (!runs.empty() && runs.back().end == run.first) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

std::string describe(const Contribution& contribution) {
  if (contribution.runs.empty()) return "nothing";
  std::string ranks;
  for (const RankRun& run : contribution.runs) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(run.first);
    if (run.end - run.first > 1) ranks += ".." + std::to_string(run.end - 1);
  }
  return "block " + std::to_string(contribution.block) + " of ranks " + ranks;
}

ContributionTable::ContributionTable(bool commutative) : commutative_(commutative) { intern({}); }

ContributionTable::Id ContributionTable::intern(Contribution contribution) {
  const auto [entry, is_new] = ids_.try_emplace(std::move(contribution), static_cast<Id>(contributions_.size()));
  if (is_new) contributions_.push_back(&entry->first);
  return entry->second;
}

ContributionTable::Id ContributionTable::of(std::uint32_t block, RankRun run) { return intern({block, {run}}); }

std::optional<ContributionTable::Id> ContributionTable::combine(Id left, Id right, std::string& reason) {
  if (const auto known = combined_.find({left, right}); known != combined_.end()) return known->second;
  const Contribution& a = (*this)[left];
  const Contribution& b = (*this)[right];
  if (left == unset || right == unset) {
    reason = "combines a block that nothing was written to";
    return std::nullopt;
  }
  if (a.block != b.block) {
    reason = "combines different blocks: " + describe(a) + " with " + describe(b);
    return std::nullopt;
  }
  std::vector<RankRun> terms = a.runs;
  terms.insert(terms.end(), b.runs.begin(), b.runs.end());
  if (commutative_) std::sort(terms.begin(), terms.end());
  Contribution sum{.block = a.block, .runs = {}};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (commutative_ && i > 0 && terms[i].first < terms[i - 1].end) {
      reason = "counts rank " + std::to_string(terms[i].first) + " twice: " + describe(a) + " with " + describe(b);
      return std::nullopt;
    }
    append(sum.runs, terms[i]);
  }
  const Id id = intern(std::move(sum));
  combined_.emplace(std::pair{left, right}, id);
  return id;
}

}  // namespace stretto::schedule
