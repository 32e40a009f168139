#include "stretto/collective/plan_cache.h"

#include <algorithm>
#include <iterator>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/inline_run.h"
#include "stretto/collective/transfer.h"
#include "stretto/schedule/lending_limits.h"
#include "stretto/schedule/receivers_read.h"

namespace stretto {

namespace {

// How long a buffer may be in a call that is done in itself. Of two blocks for two ranks one is this rank's own.
std::size_t most_inline(const schedule::Shape& shape) noexcept {
  const bool is_vector = schedule::cuts_vector(shape.operation);
  const bool are_two = shape.size == 2;
  if (are_two && shape.operation == schedule::Operation::reduce) return most_in_a_call(true);
  if (are_two && !schedule::is_reduction(shape.operation)) {
    return is_vector ? most_in_a_call(false) : schedule::most_of_two_in_one_go;
  }
  return is_vector ? piece_bytes : schedule::most_in_one_go;
}

}  // namespace

PlanCache::OfGroup::OfGroup(PlanCache& cache, const Group& members)
    : cache_(cache),
      members_(members),
      me_(members.rank_of(cache.service_.node().id())),
      link_(cache.service_.link_of(members)),
      hosts_(cache.service_.hosts_of(members)),
      heard_alone_(cache.service_.can_receive_from(members)) {}

Preparation& PlanCache::OfGroup::prepare(const CollectiveCall& call, const Named& named) {
  if (Preparation* const known = find(call, named)) return *known;
  forget_all_but(most_of_a_group - 1);
  std::unique_ptr<Preparation> prepared = prepare_anew(call, named);
  // First: what nobody has noted would stay for good, if there is no memory to note it.
  cache_.note_made_by(*this);
  preparations_.insert(preparations_.begin(), std::move(prepared));
  return *preparations_.front();
}

// Beside the one last used.
Preparation* PlanCache::OfGroup::find_further(const CollectiveCall& call, const Named& named) noexcept {
  const auto found = std::find_if(std::next(preparations_.begin()), preparations_.end(),
                                  [&](const auto& each) { return each->key.is_of(call, named); });
  if (found == preparations_.end()) return nullptr;
  std::rotate(preparations_.begin(), found, std::next(found));
  return preparations_.front().get();
}

// Those last used stay, and those in use. Their plans, too.
void PlanCache::OfGroup::forget_all_but(std::size_t count) {
  for (auto each = preparations_.end(); preparations_.size() > count && each != preparations_.begin();) {
    --each;
    if ((*each)->in_use()) continue;
    cache_.service_.forget(**each);
    each = preparations_.erase(each);
  }
  std::erase_if(plans_, [this](const KnownPlan& known) {
    return std::none_of(preparations_.begin(), preparations_.end(),
                        [&known](const auto& each) { return &each->plan == known.plan.get(); });
  });
}

std::unique_ptr<Preparation> PlanCache::OfGroup::prepare_anew(const CollectiveCall& call, const Named& by_caller) {
  CollectiveService& service = cache_.service_;
  const bool is_planned = call.set != nullptr && call.set->over_wires != nullptr && link_ == schedule::Link::wire;
  const Named named = is_planned ? Named{call.set->over_wires} : by_caller;
  schedule::Shape shape = shape_of(call, members_.size());
  shape.hosts = hosts_;
  const std::size_t bytes = bytes_of_vector(call, members_.size());
  // Of what is the same at all members: one may have shards, which others need not know.
  const bool is_listed = !call.block_offsets().empty();
  const bool may_meet = !is_listed && service.may_meet(call, shape);
  const Choice choice = named.algorithm != nullptr
                            ? Choice{named.algorithm, named.algorithm->with_segments(shape, named.segments)}
                            : service.selector().choose(shape, bytes, !is_listed, link_, may_meet);
  const Plan& plan = find_or_make({choice.algorithm, choice.shape, me_});
  auto prepared = std::make_unique<Preparation>(CallKey(call, by_caller), plan);
  prepared->digest = digest_of(call, plan);
  prepared->placed = service.place(plan, call, members_);
  const PlacedPlan& placed = *prepared->placed;
  prepared->may_be_inline = heard_alone_ && placed.fits_inline && placed.scratch_bytes <= eager_bytes &&
                            !call.reduction().as_task && bytes_of_longer(call) <= most_inline(shape) &&
                            (!placed.lends || placed.steps.size() <= InlineRun::most_steps_that_lend);
  if (prepared->may_be_inline && placed.lends) service.receipts().take_memory();
  if (may_meet) prepared->met.resize(members_.size());
  prepared->leaves = may_meet && !schedule::is_receiver(shape, me_);
  return prepared;
}

const Plan& PlanCache::OfGroup::find_or_make(const PlanKey& key) {
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const KnownPlan& each) { return each.key == key; });
  if (known != plans_.end()) return *known->plan;
  plans_.push_back({key, std::make_unique<const Plan>(*key.algorithm, key.shape, key.me)});
  return *plans_.back().plan;
}

std::size_t PlanCache::held() const noexcept {
  std::size_t held = 0;
  for (const OfGroup* const group : holders_) held += group->preparations_.size();
  return held;
}

void PlanCache::note_made_by(OfGroup& group) {
  std::erase(holders_, &group);
  holders_.insert(holders_.begin(), &group);
  // Not that of the group itself, which nobody goes by yet.
  for (auto each = holders_.end(); holders_.size() > most_groups && each != std::next(holders_.begin());) {
    --each;
    (*each)->forget_all_but(0);
    if ((*each)->preparations_.empty()) each = holders_.erase(each);
  }
}

}  // namespace stretto
