#include "stretto/schedule/cost_model.h"

#include <algorithm>
#include <string>

#include "stretto/base/error.h"
#include "stretto/schedule/block_lengths.h"
#include "stretto/schedule/executor_timing.h"
#include "stretto/schedule/joint.h"
#include "stretto/schedule/reduces_together.h"
#include "stretto/schedule/sketch.h"
#include "stretto/schedule/walk.h"

namespace stretto::schedule {

namespace {

/// Until the last rank is through.
template <class Walk>
double walk_all_rounds(Walk& walk, std::uint32_t rounds) {
  for (std::uint32_t round = 0; round < rounds; ++round) walk.walk_round(round);
  double last = 0;
  for (const Clock& clock : walk.clocks()) last = std::max(last, clock.now);
  return last;
}

Walked walk_all(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                const LinkCosts& costs, bool one_for_all) {
  ExecutorTiming timing(algorithm, shape, placement, costs, !one_for_all);
  const BlockLengths lengths(shape, bytes);
  Walk walk(algorithm, shape, lengths, timing, one_for_all);
  Walked walked{.path = walk_all_rounds(walk, algorithm.rounds(shape))};
  const std::uint64_t stands_for = one_for_all ? shape.size : 1;
  walked.busy = timing.busy() * static_cast<double>(stands_for);
  walked.turns = timing.turns() * static_cast<double>(stands_for);
  walked.messages = walk.messages() * stands_for;
  return walked;
}

/// All ranks' steps are fewer for any algorithm that sends a message to a peer a round.
std::uint64_t most_steps_of(const Algorithm& algorithm, const Shape& shape) {
  return times_bytes(std::uint64_t{shape.size} * shape.size, std::uint64_t{algorithm.rounds(shape)} * 4);
}

Walked walk(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const LinkCosts& costs, Follow follow) {
  const bool one_for_all = follow == Follow::as_it_pays && !shape.hosts.are_known() &&
                           algorithm.rotation_symmetric(shape) && BlockLengths(shape, bytes).are_equal();
  const auto exactly = [&] { return walk_all(algorithm, shape, bytes, placement, costs, one_for_all); };
  if (one_for_all || follow == Follow::all) return exactly();
  if (follow == Follow::few) return walk_few(algorithm, shape, bytes, placement, costs);
  if (most_steps_of(algorithm, shape) <= most_steps_walked) return exactly();
  const Walked sketch = walk_few(algorithm, shape, bytes, placement, costs);
  return sketch.steps <= most_steps_walked ? exactly() : sketch;
}

Price price_with(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                 const LinkCosts& costs, Follow follow) {
  algorithm.require(shape);
  if (placement.meets && pays_jointly(shape, bytes)) {
    const double seconds = joint_seconds(algorithm, shape, bytes, costs.between);
    return {.seconds = seconds, .path = seconds, .work = seconds, .is_exact = true};
  }
  const Walked walked = walk(algorithm, shape, bytes, placement, costs, follow);
  Price price{.path = walked.path, .messages = walked.messages, .is_exact = walked.is_exact};
  if (is_crowded(shape, placement)) {
    const double share = static_cast<double>(ranks_of_machine(shape, placement)) / shape.size;  // of the group
    price.work = (walked.busy + walked.turns * costs.between.turn) * share / placement.cores_of_machine;
  }
  price.seconds = costs.between.call + std::max(price.path, price.work);
  return price;
}

}  // namespace

Price price(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const CostTable& table, Follow follow) {
  return price_with(algorithm, shape, bytes, placement, {table.of(placement.link), table.of(placement.inside)}, follow);
}

Price price(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const Costs& costs, Follow follow) {
  return price_with(algorithm, shape, bytes, placement, {costs, costs}, follow);
}

std::optional<double> seconds_together(std::span<const PlacedReduce> reduces, const Placement& placement,
                                       const CostTable& table) {
  if (placement.link != Link::wire) {
    throw Error(ErrorCode::invalid_argument, "seconds_together is of reduces over wires; placement.link is " +
                                                 std::string(name_of(placement.link)) + ", but must be wire");
  }
  if (reduces.empty()) return 0.0;  // a schedule has ranks
  if (reduces.size() > ReducesTogether::most_reduces) return std::nullopt;
  const ReducesTogether all(reduces);
  const Shape shape = all.shape();
  if (times_bytes(reduces.size(), most_steps_of(all, shape)) > most_steps_walked) return std::nullopt;
  ExecutorTiming timing(all, shape, placement, {table.of(placement.link), table.of(placement.inside)}, true);
  Walk walk(all, shape, all, timing, false);
  return walk_all_rounds(walk, all.rounds(shape));
}

}  // namespace stretto::schedule
