#include "stretto/schedule/contribution.h"

#include <algorithm>

#include "stretto/schedule/canonical.h"

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

std::string in_brackets(const std::string& tree) {
  return tree.find(' ') == std::string::npos ? tree : '(' + tree + ')';
}

std::string canonical_tree(RankRun run) {
  if (run.end - run.first == 1) return std::to_string(run.first);
  const Rank middle = run.first + left_of(run.end - run.first);
  return in_brackets(canonical_tree({run.first, middle})) + ' ' + in_brackets(canonical_tree({middle, run.end}));
}

}  // namespace

std::string describe(const Contribution& contribution) {
  if (contribution.runs.empty()) return "nothing";
  std::string ranks;
  for (const RankRun& run : contribution.runs) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(run.first);
    if (run.end - run.first > 1) ranks += ".." + std::to_string(run.end - 1);
  }
  const std::string& terms = contribution.tree.empty() ? ranks : contribution.tree;
  return "block " + std::to_string(contribution.block) + " of ranks " + terms;
}

ContributionTable::ContributionTable(Counts counts) : counts_(counts) { intern({}); }

ContributionTable::Id ContributionTable::intern(Contribution contribution) {
  const auto [entry, is_new] = ids_.try_emplace(std::move(contribution), static_cast<Id>(contributions_.size()));
  if (is_new) contributions_.push_back(&entry->first);
  return entry->second;
}

ContributionTable::Id ContributionTable::of(std::uint32_t block, RankRun run) {
  return intern({block, {run}, counts_ == Counts::tree ? canonical_tree(run) : std::string()});
}

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
  const bool commutes = counts_ == Counts::nothing;
  if (commutes) std::sort(terms.begin(), terms.end());
  Contribution sum{.block = a.block, .runs = {}, .tree = {}};
  if (counts_ == Counts::tree) sum.tree = in_brackets(a.tree) + ' ' + in_brackets(b.tree);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (commutes && i > 0 && terms[i].first < terms[i - 1].end) {
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
