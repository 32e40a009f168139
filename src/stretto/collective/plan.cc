#include "stretto/collective/plan.h"

#include <algorithm>
#include <tuple>

#include "stretto/base/hash.h"
#include "stretto/schedule/materialize.h"

namespace stretto {

namespace {

std::uint64_t digest_of(const schedule::Algorithm& algorithm, const schedule::Shape& shape) {
  std::uint64_t digest = fnv1a_64(algorithm.name());
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(shape.operation), std::uint64_t{shape.size}, std::uint64_t{shape.root},
        std::uint64_t{shape.blocks}, std::uint64_t{shape.contributors}, std::uint64_t{shape.inner_receivers},
        std::uint64_t{shape.auxiliaries}, std::uint64_t{shape.reproducible}}) {
    digest = mix_64(digest ^ part);
  }
  return digest;
}

}  // namespace

Plan::Plan(const schedule::Algorithm& algorithm, const schedule::Shape& shape, schedule::Rank me)
    : algorithm_(algorithm),
      schedule_(me < shape.size ? schedule::materialize(algorithm, shape, me) : schedule::assemble(shape, me, {})),
      lowering_(lower(algorithm, schedule_)),
      digest_(digest_of(algorithm, shape)),
      // All send as far as each other in a round, and before they receive.
      meets_everybody_(algorithm.rotation_symmetric(shape)),
      asks_in_turn_(schedule::waits_for_all(shape.operation) &&
                    (schedule::is_reduction(shape.operation) || algorithm.lead(shape).sends == schedule::Lead::all)) {
  for (std::uint32_t step = 0; step < schedule_.steps.size(); ++step) {
    const schedule::Step& each = schedule_.steps[step];
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
  for (const schedule::Step& each : schedule_.steps) {
    peer_index_.push_back(each.is_message() ? static_cast<std::uint32_t>(index_of_peer(each.peer)) : 0);
  }
  beginning_ =
      StepStates::Beginning(schedule_, peers_.size(), [](std::uint32_t) { return StepStates::State::waiting; });
}

[[gnu::hot]] std::uint32_t Plan::search(const std::vector<Reference>& sorted, schedule::Rank peer,
                                        std::uint32_t tag) noexcept {
  const auto found = std::lower_bound(
      sorted.begin(), sorted.end(), std::tie(peer, tag),
      [](const Reference& reference, const auto& wanted) { return std::tie(reference.peer, reference.tag) < wanted; });
  return found != sorted.end() && found->peer == peer && found->tag == tag ? found->step : none;
}

}  // namespace stretto
