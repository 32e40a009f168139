#include "stretto/schedule/reduces_together.h"

#include <algorithm>

namespace stretto::schedule {
namespace {

/// Collects a rank's steps of one round, with the names that blocks have among all.
class Renamed final : public Sink {
 public:
  explicit Renamed(std::uint32_t first_block) noexcept : first_(first_block) {}

  std::vector<Step> steps;

 private:
  void emit(const Step& step) override {
    steps.push_back(step);
    steps.back().source_first += first_;
    steps.back().destination_first += first_;
  }

  std::uint32_t first_;
};

}  // namespace

ReducesTogether::ReducesTogether(std::span<const PlacedReduce> reduces) : reduces_(reduces) {
  for (const PlacedReduce& reduce : reduces_) nodes_.insert(nodes_.end(), reduce.nodes.begin(), reduce.nodes.end());
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  parts_.resize(nodes_.size());
  for (std::uint32_t which = 0; which < reduces_.size(); ++which) {
    const PlacedReduce& reduce = reduces_[which];
    lengths_.emplace_back(reduce.shape, reduce.bytes);
    for (Rank rank = 0; rank < reduce.shape.size; ++rank) parts_[rank_of(reduce.nodes[rank])].push_back({which, rank});
  }
}

Shape ReducesTogether::shape() const {
  Shape shape{.operation = Operation::general_reduce, .size = static_cast<Rank>(parts_.size())};
  shape.contributors = shape.inner_receivers = shape.size;
  return shape;
}

Lead ReducesTogether::lead(const Shape&) const {
  Lead least{.sends = Lead::all, .receives = Lead::all};
  for (const PlacedReduce& reduce : reduces_) {
    const Lead its = reduce.algorithm->lead(reduce.shape);
    least.sends = std::min(least.sends, its.sends);
    least.receives = std::min(least.receives, its.receives);
  }
  return least;
}

std::uint32_t ReducesTogether::rounds(const Shape&) const {
  std::uint32_t most = 0;
  for (const PlacedReduce& reduce : reduces_) most = std::max(most, reduce.algorithm->rounds(reduce.shape));
  return most;
}

// First all that goes before the first message comes.
void ReducesTogether::steps(const Shape&, Rank me, std::uint32_t round, Sink& sink) const {
  std::vector<Step> others;
  for (const auto [which, rank] : parts_[me]) {
    const PlacedReduce& reduce = reduces_[which];
    if (round >= reduce.algorithm->rounds(reduce.shape)) continue;
    Renamed its(which * most_blocks);
    reduce.algorithm->steps(reduce.shape, rank, round, its);
    for (Step& step : its.steps) {
      if (step.is_message()) step.peer = rank_of(reduce.nodes[step.peer]);
    }
    const auto first = std::find_if(its.steps.begin(), its.steps.end(),
                                    [](const Step& step) { return step.kind == StepKind::receive; });
    std::for_each(its.steps.begin(), first, [&sink](const Step& step) { sink.pass_on(step); });
    others.insert(others.end(), first, its.steps.end());
  }
  for (const Step& step : others) sink.pass_on(step);
}

std::uint64_t ReducesTogether::of(const BlockRef& ref) const {
  return lengths_[ref.first / most_blocks].of({ref.buffer, ref.first % most_blocks, ref.count});
}

}  // namespace stretto::schedule
