#include "stretto/collective/plan.h"

#include <algorithm>
#include <tuple>

#include "stretto/base/error.h"
#include "stretto/base/hash.h"
#include "stretto/schedule/materialize.h"

namespace stretto {

namespace {

std::uint64_t digest_of(const schedule::Algorithm& algorithm, const schedule::Shape& shape) {
  std::uint64_t digest = fnv1a_64(algorithm.name());
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(shape.operation), std::uint64_t{shape.size}, std::uint64_t{shape.root},
        std::uint64_t{shape.blocks}, std::uint64_t{shape.contributors}, std::uint64_t{shape.inner_receivers}}) {
    digest = mix_64(digest ^ part);
  }
  return digest;
}

}  // namespace

Plan::Plan(const schedule::Algorithm& algorithm, const schedule::Shape& shape, schedule::Rank me)
    : schedule_(schedule::materialize(algorithm, shape, me)),
      lowering_(lower(algorithm, schedule_)),
      digest_(digest_of(algorithm, shape)),
      // All send as far as each other in a round, and before they receive.
      meets_everybody_(algorithm.rotation_symmetric(shape)) {
  for (std::uint32_t step = 0; step < schedule_.steps.size(); ++step) {
    const schedule::Step& each = schedule_.steps[step];
    if (each.dependency_count == 0) first_steps_.push_back(step);
    if (each.kind == schedule::StepKind::receive) receives_.push_back({each.peer, each.tag, step});
    if (each.kind == schedule::StepKind::send) sends_.push_back({each.peer, each.tag, step});
  }
  for (std::vector<Reference>* const list : {&receives_, &sends_}) {
    std::sort(list->begin(), list->end(),
              [](const Reference& a, const Reference& b) { return std::tie(a.peer, a.tag) < std::tie(b.peer, b.tag); });
    for (const Reference& reference : *list) peers_.push_back(reference.peer);
  }
  std::sort(peers_.begin(), peers_.end());
  peers_.erase(std::unique(peers_.begin(), peers_.end()), peers_.end());
}

std::uint32_t Plan::find(const std::vector<Reference>& sorted, schedule::Rank peer, std::uint32_t tag) noexcept {
  const auto found = std::lower_bound(
      sorted.begin(), sorted.end(), std::tie(peer, tag),
      [](const Reference& reference, const auto& wanted) { return std::tie(reference.peer, reference.tag) < wanted; });
  return found != sorted.end() && found->peer == peer && found->tag == tag ? found->step : none;
}

namespace {

const schedule::Algorithm& choose_algorithm(const schedule::Shape& shape, const Setting& setting) {
  using schedule::find_algorithm;
  using schedule::Operation;
  static const schedule::Algorithm& linear_barrier = find_algorithm("linear_barrier");
  static const schedule::Algorithm& dissemination_barrier = find_algorithm("dissemination_barrier");
  static const schedule::Algorithm& binomial_broadcast = find_algorithm("binomial_broadcast");
  static const schedule::Algorithm& binomial_reduce = find_algorithm("binomial_reduce");
  static const schedule::Algorithm& linear_allreduce = find_algorithm("linear_allreduce");
  static const schedule::Algorithm& direct_allreduce = find_algorithm("direct_allreduce");
  static const schedule::Algorithm& recursive_doubling = find_algorithm("recursive_doubling");
  static const schedule::Algorithm& ring_allgather = find_algorithm("ring_allgather");
  static const schedule::Algorithm& van_de_geijn_broadcast = find_algorithm("van_de_geijn_broadcast");
  static const schedule::Algorithm& direct_reduce = find_algorithm("direct_reduce");
  static const schedule::Algorithm& ring_allreduce = find_algorithm("ring_allreduce");
  static const schedule::Algorithm& rabenseifner = find_algorithm("rabenseifner");
  static const schedule::Algorithm& linear_allgather = find_algorithm("linear_allgather");
  static const schedule::Algorithm& scattered_general_reduce = find_algorithm("scattered_general_reduce");
  static const schedule::Algorithm& linear_gather = find_algorithm("linear_gather");
  static const schedule::Algorithm& linear_scatter = find_algorithm("linear_scatter");
  static const schedule::Algorithm& direct_reduce_scatter = find_algorithm("direct_reduce_scatter");
  static const schedule::Algorithm& linear_all_to_all = find_algorithm("linear_all_to_all");
  static const schedule::Algorithm& recursive_doubling_scan = find_algorithm("recursive_doubling_scan");
  static const schedule::Algorithm& recursive_doubling_exscan = find_algorithm("recursive_doubling_exscan");
  static const schedule::Algorithm& aspen_general_reduce = find_algorithm("aspen_general_reduce");
  // All inputs are at one rank at once.
  constexpr std::size_t most_linear_bytes = 4096;
  // In shared memory larger vectors are taken where they lie, each part by another rank.
  constexpr std::size_t most_copied_bytes = 4096;
  // Over wires larger vectors are cut, so that each link carries them twice, however many ranks there are.
  constexpr std::size_t most_whole_bytes = std::size_t{64} << 10U;
  const bool linear = setting.crowded && shape.size > 2 && setting.bytes <= most_linear_bytes;
  const bool direct = setting.shared_memory && shape.size > 1 && setting.bytes > most_copied_bytes;
  const bool cut = !setting.shared_memory && shape.size > 2 && setting.bytes > most_whole_bytes;
  switch (shape.operation) {
    case Operation::barrier: return linear ? linear_barrier : dissemination_barrier;
    case Operation::broadcast: return cut ? van_de_geijn_broadcast : binomial_broadcast;
    case Operation::reduce: return direct || cut ? direct_reduce : binomial_reduce;
    case Operation::allreduce:
      if (direct) return direct_allreduce;
      if (cut) return shape.commutative ? ring_allreduce : rabenseifner;
      return linear ? linear_allreduce : recursive_doubling;
    case Operation::allgather: return setting.shared_memory ? linear_allgather : ring_allgather;
    case Operation::gather: return linear_gather;
    case Operation::scatter: return linear_scatter;
    case Operation::reduce_scatter: return direct_reduce_scatter;
    case Operation::all_to_all: return linear_all_to_all;
    case Operation::scan: return recursive_doubling_scan;
    case Operation::exscan: return recursive_doubling_exscan;
    case Operation::general_reduce:
      return direct || cut || !shape.commutative ? scattered_general_reduce : aspen_general_reduce;
  }
  throw Error(ErrorCode::invalid_argument, "no algorithm for " + schedule::describe(shape));
}

}  // namespace

Choice choose(const schedule::Shape& shape, const Setting& setting) {
  const schedule::Algorithm& algorithm = choose_algorithm(shape, setting);
  return {&algorithm, algorithm.with_segments(shape)};
}

}  // namespace stretto
