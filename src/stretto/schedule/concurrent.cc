#include "stretto/schedule/concurrent.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "stretto/schedule/cost_table.h"

namespace stretto::schedule {
namespace {

struct Traffic {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
};
/// By stage.
using Work = std::vector<Traffic>;

/// Notes what one rank sends and receives.
class TrafficSink final : public Sink {
 public:
  explicit TrafficSink(const PlacedReduce& reduce) noexcept
      : bytes_(reduce.bytes), blocks_(vector_blocks(reduce.shape)) {}
  void begin(Traffic& stage) noexcept { stage_ = &stage; }

 private:
  static constexpr std::uint64_t unit = 1024;
  static constexpr std::uint64_t most_units = std::uint64_t{1} << 20U;  // so that sums and products fit

  void emit(const Step& step) override {
    const std::uint64_t bytes = bytes_ / blocks_ * step.count;
    const std::uint64_t messages = bytes > most_inline_bytes ? 3 : 1;  // it is announced and answered
    const std::uint64_t weight = messages + std::min(bytes / unit, most_units);
    if (step.kind == StepKind::send) stage_->out += weight;
    if (step.kind == StepKind::receive) stage_->in += weight;
  }

  std::uint64_t bytes_;
  std::uint64_t blocks_;
  Traffic* stage_ = nullptr;
};

/// By rank.
std::vector<Work> work_of(const PlacedReduce& reduce) {
  const std::uint32_t rounds = reduce.algorithm->rounds(reduce.shape);
  std::vector<Work> work(reduce.shape.size, Work(rounds));
  TrafficSink sink(reduce);
  for (Rank rank = 0; rank < reduce.shape.size; ++rank) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      sink.begin(work[rank][round]);
      reduce.algorithm->steps(reduce.shape, rank, round, sink);
    }
  }
  return work;
}

std::uint64_t total(const Work& work) {
  return std::accumulate(work.begin(), work.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Traffic& stage) { return sum + stage.out + stage.in; });
}

/// What all nodes do in all stages.
class Loads {
 public:
  void add(std::span<const std::uint32_t> nodes, const std::vector<Work>& work) { change(nodes, work, true); }
  void remove(std::span<const std::uint32_t> nodes, const std::vector<Work>& work) { change(nodes, work, false); }

  std::uint64_t busiest() const {
    std::vector<std::uint64_t> most;
    for (const Work& work : by_node_) {
      if (most.size() < work.size()) most.resize(work.size());
      for (std::size_t stage = 0; stage < work.size(); ++stage) {
        most[stage] = std::max({most[stage], work[stage].out, work[stage].in});
      }
    }
    return std::accumulate(most.begin(), most.end(), std::uint64_t{0});
  }

  /// How much of `work` would fall together with what `node` does already.
  std::uint64_t conflict(std::uint32_t node, const Work& work) const {
    if (node >= by_node_.size()) return 0;
    const Work& mine = by_node_[node];
    std::uint64_t sum = 0;
    for (std::size_t stage = 0; stage < std::min(mine.size(), work.size()); ++stage) {
      sum += mine[stage].out * work[stage].out + mine[stage].in * work[stage].in;
    }
    return sum;
  }

 private:
  void change(std::span<const std::uint32_t> nodes, const std::vector<Work>& work, bool more) {
    for (Rank rank = 0; rank < nodes.size(); ++rank) {
      if (by_node_.size() <= nodes[rank]) by_node_.resize(std::size_t{nodes[rank]} + 1);
      Work& mine = by_node_[nodes[rank]];
      if (mine.size() < work[rank].size()) mine.resize(work[rank].size());
      for (std::size_t stage = 0; stage < work[rank].size(); ++stage) {
        const Traffic& its = work[rank][stage];
        mine[stage].out = more ? mine[stage].out + its.out : mine[stage].out - its.out;
        mine[stage].in = more ? mine[stage].in + its.in : mine[stage].in - its.in;
      }
    }
  }

  std::vector<Work> by_node_;
};

/// Has two of the ranks from `first` to `end` change nodes wherever less falls together then.
void exchange(std::vector<std::uint32_t>& nodes, Rank first, Rank end, const std::vector<Work>& work,
              const Loads& loads) {
  // Each is compared with so many after it.
  constexpr Rank most_partners = 64;
  for (Rank a = first; a < end; ++a) {
    for (Rank b = a + 1; b < end && b - a <= most_partners; ++b) {
      const std::uint64_t as_is = loads.conflict(nodes[a], work[a]) + loads.conflict(nodes[b], work[b]);
      const std::uint64_t exchanged = loads.conflict(nodes[b], work[a]) + loads.conflict(nodes[a], work[b]);
      if (exchanged < as_is) std::swap(nodes[a], nodes[b]);
    }
  }
}

std::vector<std::uint32_t> rearranged(const PlacedReduce& reduce, std::vector<std::uint32_t> nodes,
                                      const std::vector<Work>& work, const Loads& loads) {
  const Shape& shape = reduce.shape;
  if (shape.commutative) {
    exchange(nodes, 0, shape.inner_receivers, work, loads);
    exchange(nodes, shape.inner_receivers, shape.contributors, work, loads);
  }
  exchange(nodes, shape.contributors, shape.size, work, loads);
  return nodes;
}

/// The places of `works`, the heaviest first.
std::vector<std::size_t> heaviest_first(const std::vector<std::vector<Work>>& works) {
  std::vector<std::uint64_t> weights;
  for (const std::vector<Work>& work : works) {
    weights.push_back(std::accumulate(work.begin(), work.end(), std::uint64_t{0},
                                      [](std::uint64_t sum, const Work& each) { return sum + total(each); }));
  }
  std::vector<std::size_t> places(works.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return places;
}

bool may_be_fused(const PlacedReduce& a, const PlacedReduce& b) {
  return a.may_be_fused && b.may_be_fused && a.algorithm == b.algorithm && a.shape == b.shape && a.nodes == b.nodes;
}

}  // namespace

std::uint64_t load_of(std::span<const PlacedReduce> reduces) {
  Loads loads;
  for (const PlacedReduce& reduce : reduces) loads.add(reduce.nodes, work_of(reduce));
  return loads.busiest();
}

std::vector<std::vector<std::uint32_t>> balance(std::span<const PlacedReduce> reduces) {
  constexpr int sweeps = 2;
  std::vector<std::vector<Work>> works;
  std::vector<std::vector<std::uint32_t>> orders;
  Loads loads;
  for (const PlacedReduce& reduce : reduces) {
    works.push_back(work_of(reduce));
    orders.push_back(reduce.nodes);
    loads.add(orders.back(), works.back());
  }
  const std::vector<std::size_t> sequence = heaviest_first(works);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (const std::size_t which : sequence) {
      const std::uint64_t before = loads.busiest();
      loads.remove(orders[which], works[which]);
      std::vector<std::uint32_t> nodes = rearranged(reduces[which], orders[which], works[which], loads);
      loads.add(nodes, works[which]);
      if (loads.busiest() < before) {
        orders[which] = std::move(nodes);
      } else {
        loads.remove(nodes, works[which]);
        loads.add(orders[which], works[which]);
      }
    }
  }
  return orders;
}

std::vector<std::vector<std::size_t>> fuse(std::span<const PlacedReduce> reduces, std::uint64_t most_bytes) {
  struct Set {
    std::vector<std::size_t> places;
    std::uint64_t bytes;
  };
  std::vector<Set> sets;
  for (std::size_t place = 0; place < reduces.size(); ++place) {
    const std::uint64_t bytes = (reduces[place].bytes + 15) / 16 * 16;
    const auto fits = [&](const Set& set) {
      return set.bytes <= most_bytes && bytes <= most_bytes - set.bytes &&
             may_be_fused(reduces[set.places.front()], reduces[place]);
    };
    const auto found = std::find_if(sets.begin(), sets.end(), fits);
    Set& set = found != sets.end() ? *found : sets.emplace_back(Set{{}, 0});
    set.places.push_back(place);
    set.bytes += bytes;
  }
  std::vector<std::vector<std::size_t>> result;
  for (Set& set : sets) result.push_back(std::move(set.places));
  return result;
}

}  // namespace stretto::schedule
