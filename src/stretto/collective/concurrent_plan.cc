#include "stretto/collective/concurrent_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "stretto/base/hash.h"
#include "stretto/collective/plan.h"
#include "stretto/schedule/concurrent.h"

namespace stretto {

namespace {

// A set travels in one message each round.
constexpr std::uint64_t most_fused_bytes = 4096;

bool is_balanced(Together together) {
  return together == Together::balanced || together == Together::balanced_and_fused;
}
bool is_fused(Together together) { return together == Together::fused || together == Together::balanced_and_fused; }

bool is_fusible(const ReduceCall& call) {
  return !call.part.call.reduction().as_task && call.part.alignment <= alignof(std::max_align_t);
}

// Who is not a member does not know how the members reach each other: all plan as if over wires.
schedule::PlacedReduce placed(const ReduceCall& call, const Named& named, Selector& selector) {
  const auto nodes = call.groups.members().nodes();
  const schedule::Shape shape = shape_of(call.part.call, call.groups.members().size());
  const Choice choice = named.algorithm != nullptr
                            ? Choice{named.algorithm, named.algorithm->with_segments(shape, named.segments)}
                            : selector.choose(shape, call.part.bytes, true, schedule::Link::wire);
  return {choice.algorithm, choice.shape, {nodes.begin(), nodes.end()}, call.part.bytes, is_fusible(call)};
}

std::vector<schedule::PlacedReduce> balanced(std::vector<schedule::PlacedReduce> reduces) {
  const std::vector<std::vector<std::uint32_t>> orders = schedule::balance(reduces);
  for (std::size_t i = 0; i < reduces.size(); ++i) reduces[i].nodes = orders[i];
  return reduces;
}

// What is best for one reduce alone may leave more than it need to the busiest node of several.
std::vector<schedule::PlacedReduce> by(const schedule::Algorithm& algorithm,
                                       std::vector<schedule::PlacedReduce> reduces) {
  for (schedule::PlacedReduce& each : reduces) {
    const schedule::Shape shape = algorithm.with_segments(each.shape);
    if (!algorithm.supports(shape)) continue;
    each.algorithm = &algorithm;
    each.shape = shape;
  }
  return reduces;
}

// What members must agree on beside their own reduces.
std::uint64_t digest_of(const std::vector<ReduceCall>& calls, Together together) {
  std::uint64_t digest = mix_64(calls.size() << 8U | static_cast<std::uint64_t>(together));
  for (const ReduceCall& reduce : calls) {
    const Hash128 members = reduce.groups.members().hash();
    const CollectiveCall& call = reduce.part.call;
    for (const std::uint64_t part :
         {members.high, members.low, std::uint64_t{call.contributors}, std::uint64_t{call.inner_receivers},
          std::uint64_t{call.fingerprint}, std::uint64_t{reduce.part.bytes}, call.form->type_digest,
          call.reduction().digest}) {
      digest = mix_64(digest ^ part);
    }
  }
  return digest;
}

std::vector<std::vector<std::size_t>> each_alone(std::size_t count) {
  std::vector<std::vector<std::size_t>> sets;
  for (std::size_t i = 0; i < count; ++i) sets.push_back({i});
  return sets;
}

// What takes the least time together: as given, balanced, or, if it `may_be_otherwise`, with all vectors whole, or cut,
// and balanced.
std::vector<schedule::PlacedReduce> best_of(std::vector<schedule::PlacedReduce> given, bool may_be_otherwise,
                                            const Selector& selector) {
  std::vector<std::vector<schedule::PlacedReduce>> candidates{std::move(given)};
  candidates.push_back(balanced(candidates.front()));
  if (may_be_otherwise) {
    for (const std::string_view name : {"aspen_general_reduce", "scattered_general_reduce"}) {
      candidates.push_back(balanced(by(schedule::find_algorithm(name), candidates.front())));
    }
  }
  // Sums of the same costs in another order are equal but for their last bits, which decide nothing.
  std::vector<float> seconds;
  for (const std::vector<schedule::PlacedReduce>& each : candidates) {
    const std::optional<double> its = selector.seconds_together(each);
    if (!its) return std::move(candidates[1]);  // by load no worse than as given
    seconds.push_back(static_cast<float>(*its));
  }
  const auto best = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
  return std::move(candidates[static_cast<std::size_t>(best)]);
}

}  // namespace

ConcurrentPlan::ConcurrentPlan(const std::vector<ReduceCall>& calls, const Named& named, Together together,
                               Selector& selector) {
  std::vector<schedule::PlacedReduce> reduces;
  for (const ReduceCall& call : calls) reduces.push_back(placed(call, named, selector));
  const auto grouped = is_fused(together) ? schedule::fuse(reduces, most_fused_bytes) : each_alone(calls.size());
  std::vector<schedule::PlacedReduce> travelling;
  for (const std::vector<std::size_t>& set : grouped) {
    travelling.push_back(reduces[set.front()]);
    for (const std::size_t other : std::span(set).subspan(1)) travelling.back().bytes += reduces[other].bytes;
  }
  const std::vector<schedule::PlacedReduce> best =
      is_balanced(together) ? best_of(travelling, named.algorithm == nullptr, selector) : travelling;
  const std::uint64_t digest = digest_of(calls, together);
  for (std::size_t set = 0; set < grouped.size(); ++set) {
    CallOfSet planned;
    planned.is_fused = grouped[set].size() > 1;
    const std::vector<std::uint32_t>& nodes = best[set].nodes;
    if (nodes != travelling[set].nodes) planned.order.emplace(std::vector<NodeId>(nodes.begin(), nodes.end()));
    if (best[set].algorithm != travelling[set].algorithm) planned.over_wires = best[set].algorithm;
    planned.agreement = mix_64(digest ^ (planned.order ? planned.order->hash().low : 0));
    sets.push_back({grouped[set], std::make_shared<const CallOfSet>(std::move(planned))});
  }
}

ConcurrentPlans::CallKey ConcurrentPlans::key_of(const ReduceCall& call) noexcept {
  const CollectiveCall& part = call.part.call;
  return {call.groups.members().hash(),
          call.groups.participants(),
          call.groups.inner_receivers(),
          call.part.bytes,
          part.form->type_digest,
          part.reduction().digest,
          part.fingerprint,
          part.reduction().commutative,
          part.reproducible != 0,
          is_fusible(call)};
}

bool ConcurrentPlans::is_for(const Known& known, const std::vector<ReduceCall>& calls, const Named& named,
                             Together together) noexcept {
  return known.named == named && known.together == together &&
         std::equal(known.calls.begin(), known.calls.end(), calls.begin(), calls.end(),
                    [](const CallKey& key, const ReduceCall& call) { return key == key_of(call); });
}

std::shared_ptr<const ConcurrentPlan> ConcurrentPlans::find_or_make(const std::vector<ReduceCall>& calls,
                                                                    const Named& named, Together together,
                                                                    Selector& selector) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& each) { return is_for(each, calls, named, together); });
  if (found != known_.end()) {
    std::rotate(known_.begin(), found, found + 1);
    return known_.front().plan;
  }
  Known made{{}, named, together, std::make_shared<const ConcurrentPlan>(calls, named, together, selector)};
  for (const ReduceCall& call : calls) made.calls.push_back(key_of(call));
  if (known_.size() == most_known) known_.pop_back();
  known_.insert(known_.begin(), std::move(made));
  return known_.front().plan;
}

}  // namespace stretto
