#include "stretto/schedule/select.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "stretto/base/error.h"

namespace stretto::schedule {
namespace {

/// Whether so many segments may pay: one more message costs less than the bytes in it.
bool may_pay(std::uint64_t bytes, std::uint32_t blocks, const Costs& costs) {
  return static_cast<double>(bytes) / blocks * (costs.byte_time + costs.reduction_time) > costs.overhead;
}

void add_candidates(const Algorithm& algorithm, const Request& request, const CostTable& table,
                    std::vector<Candidate>& candidates) {
  if (algorithm.operation() != request.shape.operation) return;
  if (algorithm.needs_equal_blocks() && !request.equal_blocks) return;
  // A few numbers that make it no cheaper mean that more of them won't.
  constexpr int most_failures = 2;
  const std::uint32_t most = algorithm.blocking(request.shape).most_segments;
  double least = std::numeric_limits<double>::infinity();
  int failures = 0;
  for (std::uint32_t segments = 1; segments <= most && failures < most_failures; segments *= 2) {
    const Shape shape = algorithm.with_segments(request.shape, segments);
    if (!algorithm.supports(shape)) return;
    if (segments > 1 && !may_pay(request.bytes, shape.blocks, table.of(request.placement.link))) return;
    candidates.push_back(
        {&algorithm, segments, shape, price(algorithm, shape, request.bytes, request.placement, table)});
    const double cost = candidates.back().price.cost();
    failures = cost < least ? 0 : failures + 1;
    least = std::min(least, cost);
  }
}

/// To whom a rank sends.
class Receivers final : public Sink {
 public:
  std::size_t count() const noexcept { return receivers_.size(); }

 private:
  void emit(const Step& step) override {
    if (step.kind == StepKind::send) receivers_.insert(step.peer);
  }

  std::set<Rank> receivers_;
};

std::size_t receivers_of(Rank rank, const Candidate& candidate) {
  Receivers receivers;
  for (std::uint32_t round = 0; round < candidate.algorithm->rounds(candidate.shape); ++round) {
    candidate.algorithm->steps(candidate.shape, rank, round, receivers);
  }
  return receivers.count();
}

/// Whether it is an all-reduce that does little else than to carry bytes over wires, between more than two.
bool carries_bytes_over_wires(const Request& request, double cost, const CostTable& table) {
  const Shape& shape = request.shape;
  const bool crosses_wires = request.placement.link == Link::wire && !shape.hosts.are_known();
  const double once = static_cast<double>(request.bytes) * table.of(Link::wire).byte_time;
  return shape.operation == Operation::allreduce && shape.size > 2 && crosses_wires && once > cost / 2;
}

/// Whether it is a reduce of two processes that share memory, of which the root may have a part done by the other one.
bool may_share_reduction(const Request& request) {
  return request.shape.operation == Operation::reduce && request.shape.size == 2 &&
         request.placement.link == Link::host;
}

/// Of the candidates whose prices are at most so many times the least, those in which that rank sends to the fewest
/// come first, and of these those of the fewest segments.
void put_first_who_sends_to_few(Rank rank, double too_close, std::vector<Candidate>& candidates) {
  const double most = too_close * candidates.front().price.cost();
  const auto end = std::find_if(candidates.begin(), candidates.end(),
                                [most](const Candidate& each) { return each.price.cost() > most; });
  std::vector<std::pair<std::size_t, Candidate>> close;  // with how many that rank sends to
  for (auto each = candidates.begin(); each != end; ++each) {
    const std::size_t receivers = receivers_of(rank, *each);
    close.emplace_back(receivers, std::move(*each));
  }
  const auto key = [](const auto& each) { return std::pair(each.first, each.second.segments); };
  std::stable_sort(close.begin(), close.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::transform(close.begin(), close.end(), candidates.begin(), [](auto& each) { return std::move(each.second); });
}

/// Where prices are too close to tell.
void decide_by_what_prices_do_not_know(const Request& request, const CostTable& table,
                                       std::vector<Candidate>& candidates) {
  // In an all-reduce all ranks do nearly alike (decision 67).
  if (carries_bytes_over_wires(request, candidates.front().price.cost(), table)) {
    put_first_who_sends_to_few(0, 1.01, candidates);
  }
  // What the other one has made costs more where it can't be written to the root's memory (decisions 69 and 80).
  if (may_share_reduction(request)) put_first_who_sends_to_few(request.shape.root, 1.08, candidates);
}

}  // namespace

std::vector<Candidate> rank_candidates(const Request& request, const CostTable& table) {
  std::vector<Candidate> candidates;
  const auto add_all = [&](const Request& each) {
    for (const Algorithm* const algorithm : algorithms()) {
      add_candidates(*algorithm, each, table, candidates);
    }
  };
  const std::string defect = defect_of(request.shape);
  if (defect.empty()) {
    Request alone = request;
    alone.shape.size -= std::exchange(alone.shape.auxiliaries, 0);
    if (alone.shape.hosts.are_known()) alone.shape.hosts = alone.shape.hosts.first(alone.shape.size);
    add_all(alone);
    if (request.shape.auxiliaries > 0) add_all(request);
  }
  if (candidates.empty()) {
    throw Error(ErrorCode::invalid_argument, "no algorithm for " + describe(request.shape) + ": " + defect);
  }
  // Sums of the same costs in another order are equal but for their last bits, which decide nothing.
  const auto rounded = [](double seconds) { return static_cast<float>(seconds); };
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    return std::pair(rounded(a.price.cost()), rounded(a.price.path)) <
           std::pair(rounded(b.price.cost()), rounded(b.price.path));
  });
  decide_by_what_prices_do_not_know(request, table, candidates);
  return candidates;
}

Candidate select(const Request& request, const CostTable& table) { return rank_candidates(request, table).front(); }

std::uint64_t size_class(std::uint64_t bytes) noexcept {
  if (bytes < 16) return bytes;
  const std::uint64_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace stretto::schedule
