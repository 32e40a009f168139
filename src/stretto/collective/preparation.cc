#include "stretto/collective/preparation.h"

#include <utility>

#include "stretto/base/arena.h"
#include "stretto/collective/operation.h"

namespace stretto {

Preparation::~Preparation() {
  while (CollectiveOperation* const operation = pop_kept()) arena::destroy(operation);
}

bool Preparation::end_use(CollectiveOperation& operation, bool may_serve_again) noexcept {
  --users_;
  if (!may_serve_again || kept_count_ == most_kept) return false;
  operation.fabric::Item::next = kept_;
  kept_ = &operation;
  ++kept_count_;
  return true;
}

CollectiveOperation* Preparation::take_kept(CollectiveCall&& call, const CollectiveOptions& options) noexcept {
  if (call.lists != nullptr) return nullptr;  // shards: their calls are alike, but for what they list
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
