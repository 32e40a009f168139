#include "stretto/collective/preparation.h"

#include <algorithm>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/base/hash.h"
#include "stretto/collective/joint_run.h"
#include "stretto/collective/operation.h"

namespace stretto {

namespace {

std::uint64_t digest_of_sizes(const CollectiveCall& call) noexcept {
  std::uint64_t digest = bytes_of_vector(call);
  if (call.operation() == schedule::Operation::all_to_all) return digest;  // else a list is the same everywhere
  for (const std::size_t offset : call.block_offsets()) digest = mix_64(digest ^ offset);
  return digest;
}

}  // namespace

bool CallKey::is_of(const CollectiveCall& call, const Named& how) const noexcept {
  return is_alike(call) && named_ == how && is_planned_as(call) && is_listed_as(call) && form_ == *call.form;
}

bool CallKey::is_planned_as(const CollectiveCall& call) const noexcept {
  if (call.set == nullptr) return !is_planned_;
  return is_planned_ && agreement_ == call.set->agreement && over_wires_ == call.set->over_wires;
}

bool CallKey::is_listed_as(const CollectiveCall& call) const noexcept {
  return std::ranges::equal(block_offsets_, call.block_offsets()) &&
         std::ranges::equal(output_offsets_, call.output_offsets());
}

std::uint32_t digest_of(const CollectiveCall& call, const Plan& plan) noexcept {
  const std::uint64_t agreement = call.set == nullptr ? 0 : call.set->agreement;
  return static_cast<std::uint32_t>(mix_64(mix_64(mix_64(plan.digest() ^ digest_of_sizes(call)) ^ call.fingerprint) ^
                                           call.form->type_digest ^ (call.reduction().digest << 1U) ^ agreement));
}

Preparation::Preparation(CallKey its_key, const Plan& its_plan) noexcept : key(std::move(its_key)), plan(its_plan) {}

Preparation::~Preparation() {
  while (CollectiveOperation* const operation = pop_kept()) arena::destroy(operation);
}

[[gnu::hot]] bool Preparation::end_use(CollectiveOperation& operation, bool may_serve_again) noexcept {
  --users_;
  if (!may_serve_again || kept_count_ == most_kept) return false;
  operation.fabric::Item::next = kept_;
  kept_ = &operation;
  ++kept_count_;
  return true;
}

[[gnu::hot]] CollectiveOperation* Preparation::take_kept(CollectiveCall&& call,
                                                         const CollectiveOptions& options) noexcept {
  if (!call.shards().empty()) return nullptr;  // such calls are alike, but for these
  CollectiveOperation* const operation = pop_kept();
  if (operation != nullptr) operation->renew(std::move(call), options);
  return operation;
}

CollectiveOperation* Preparation::pop_kept() noexcept {
  CollectiveOperation* const operation = kept_;
  if (operation == nullptr) return nullptr;
  kept_ = static_cast<CollectiveOperation*>(operation->fabric::Item::next);
  --kept_count_;
  return operation;
}

}  // namespace stretto
